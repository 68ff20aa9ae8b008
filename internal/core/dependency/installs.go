package dependency

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

//go:embed provides.yaml
var providesYAML []byte

// installer is a kind of object that installs something, as in provides.yaml.
type installer struct {
	Group      string   `json:"group"`
	Kind       string   `json:"kind"`
	NameFields []string `json:"nameFields"`
	Table      string   `json:"table"`
	apis       map[string][]api
}

// installers returns those of provides.yaml, which is read when it is needed first.
var installers = sync.OnceValue(func() map[manifest.GroupKind]installer {
	table, err := readInstallers(providesYAML)
	if err != nil {
		panic("provides.yaml: " + err.Error())
	}
	return table
})

func readInstallers(text []byte) (map[manifest.GroupKind]installer, error) {
	var doc struct {
		Installers []installer                    `json:"installers"`
		Tables     map[string]map[string][]string `json:"tables"`
	}
	if err := yaml.UnmarshalStrict(text, &doc); err != nil {
		return nil, err
	}
	table := make(map[manifest.GroupKind]installer, len(doc.Installers))
	for _, i := range doc.Installers {
		rows, ok := doc.Tables[i.Table]
		if i.Table != "" && !ok {
			return nil, fmt.Errorf("%s: there is no table %s", i.Kind, i.Table)
		}
		i.apis = make(map[string][]api, len(rows))
		for name, texts := range rows {
			for _, text := range texts {
				a, ok := parseAPI(text)
				if !ok {
					return nil, fmt.Errorf("%s: %q is not an API", name, text)
				}
				i.apis[name] = append(i.apis[name], a)
			}
		}
		table[manifest.GroupKind{Group: i.Group, Kind: i.Kind}] = i
	}
	return table, nil
}

// named returns what a name installs: that of its row, else of the row with the longest beginning of
// it; none where there is no row.
func (i installer) named(name string) []api {
	if found, ok := i.apis[name]; ok {
		return found
	}
	best := ""
	for row := range i.apis {
		if prefix, pattern := strings.CutSuffix(row, "*"); pattern && strings.HasPrefix(name, prefix) && len(row) > len(best) {
			best = row
		}
	}
	return i.apis[best]
}

// api is kinds that API servers serve: all of a group, or of all groups below it, or those of a
// group by their name or its beginning.
type api struct {
	group       string
	below       bool
	kind        string // empty for all
	beginning   bool   // whether kind is that of a name
	description string
}

// parseAPI reads "cert-manager.io", "*.upbound.io", "Issuer.cert-manager.io", and
// "AWS*.infrastructure.cluster.x-k8s.io".
func parseAPI(text string) (api, bool) {
	a := api{description: text}
	if group, below := strings.CutPrefix(text, "*."); below {
		a.group, a.below = group, true
	} else if text != "" && text[0] >= 'A' && text[0] <= 'Z' {
		a.kind, a.group, _ = strings.Cut(text, ".")
		a.kind, a.beginning = strings.CutSuffix(a.kind, "*")
		if a.kind == "" || !manifest.IsAPIVersion(strings.ToLower(a.kind)) {
			return api{}, false
		}
	} else {
		a.group = text
	}
	return a, strings.Contains(a.group, ".") && manifest.IsAPIVersion(a.group+"/v1")
}

// has reports whether a kind is among them.
func (a api) has(kind manifest.GroupKind) bool {
	switch {
	case a.below:
		return strings.HasSuffix(kind.Group, "."+a.group)
	case kind.Group != a.group:
		return false
	case a.beginning:
		return strings.HasPrefix(kind.Kind, a.kind)
	}
	return a.kind == "" || a.kind == kind.Kind
}

// definerReady are the kinds whose objects define others, with what is true of an object once API
// servers serve what it defines. Of a CustomResourceDefinition its health says so.
var definerReady = map[manifest.GroupKind]string{
	{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition"}: "has(status.conditions) && status.conditions.exists(c, c.type == 'Established' && c.status == 'True')",
	{Group: "templates.gatekeeper.sh", Kind: "ConstraintTemplate"}:              "has(status.created) && status.created",
	{Group: "kro.run", Kind: "ResourceGraphDefinition"}:                         "has(status.state) && status.state == 'Active'",
}

// installation is what an object installs, on a cluster.
type installation struct {
	vertex int32
	apis   []api
	ready  string
	// field and why are those of the edges.
	field, why string
}

// installs returns what an object other than a CustomResourceDefinition provides; false where it
// provides nothing that is known. Its annotation counts, else what it defines, else what the tables
// have of its name. problem is a part of the annotation that is not an API.
func installs(w *World, v int32, o *manifest.Object) (found installation, problem string) {
	kind := o.ID.GroupKind()
	found = installation{vertex: v, ready: definerReady[kind]}
	if text := o.Annotation(v1alpha1.AnnotationProvides); text != "" {
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			a, ok := parseAPI(item)
			if !ok {
				return installation{}, item
			}
			found.apis = append(found.apis, a)
		}
		found.field, found.why = "metadata.annotations["+v1alpha1.AnnotationProvides+"]", v1alpha1.AnnotationProvides
		return found, ""
	}
	if found.ready != "" {
		for _, d := range manifest.Defines(*o) {
			found.apis = append(found.apis, api{group: d.Kind.Group, kind: d.Kind.Kind})
		}
		found.why = "it defines the kind"
		return found, ""
	}
	i, ok := installers()[kind]
	if !ok {
		return installation{}, ""
	}
	for _, name := range names(w, v, o, i) {
		for _, a := range i.named(name) {
			if !slices.Contains(found.apis, a) {
				found.apis = append(found.apis, a)
			}
		}
		found.why = fmt.Sprintf("it installs %s", manifest.Printable(name))
	}
	return found, ""
}

// names returns the names of what an installer installs, each as the tables have it.
func names(w *World, v int32, o *manifest.Object, i installer) []string {
	if i.Table != "" && len(i.NameFields) == 0 {
		return []string{o.ID.Name}
	}
	var out []string
	for _, field := range i.NameFields {
		for _, text := range texts(o.Body, strings.Split(field, ".")) {
			out = append(out, plainName(text))
		}
	}
	if ref := o.Map("spec", "chartRef"); ref != nil {
		text := func(key string) string { s, _ := ref[key].(string); return s }
		id := manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}
		if id.Namespace == "" {
			id.Namespace = o.ID.Namespace
		}
		if source, ok := w.Beside(v, id); ok && w.Object(source) != nil {
			for _, field := range []string{"url", "chart"} {
				if text := w.Object(source).Text("spec", field); text != "" {
					out = append(out, plainName(text))
				}
			}
		}
	}
	return out
}

// texts returns the strings at a path of keys, through lists.
func texts(value any, path []string) []string {
	switch at := value.(type) {
	case []any:
		var out []string
		for _, item := range at {
			out = append(out, texts(item, path)...)
		}
		return out
	case map[string]any:
		if len(path) > 0 {
			return texts(at[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 && at != "" {
			return []string{at}
		}
	}
	return nil
}

// plainName returns the last element of a path or URL, without a tag or digest.
func plainName(text string) string {
	text, _, _ = strings.Cut(strings.TrimRight(text, "/"), "@")
	text = text[strings.LastIndexByte(text, '/')+1:]
	text, _, _ = strings.Cut(text, ":")
	return strings.TrimSuffix(text, ".tgz")
}

// targetOf returns the cluster that an object installs to, which is another one where it names a
// kubeconfig or a destination; false where that is none that is known.
func targetOf(w *World, v int32, o *manifest.Object) (string, bool) {
	own := w.Cluster(v).Name
	if o.ID.Group == "argoproj.io" {
		server, name := o.Text("spec", "destination", "server"), o.Text("spec", "destination", "name")
		if name != "" && name != "in-cluster" {
			_, known := w.Inventory.Clusters[name]
			return name, known
		}
		return own, server == "" || server == "https://kubernetes.default.svc"
	}
	secret := o.Text("spec", "kubeConfig", "secretRef", "name")
	if secret == "" {
		return own, o.Map("spec", "kubeConfig") == nil
	}
	for _, name := range w.Inventory.Names() {
		c := w.Inventory.Clusters[name]
		reachedBy, on := c.KubeConfig.Name, c.Hub
		if c.CreatedBy != nil {
			at, kubeConfig := c.KubeConfigOf()
			reachedBy, on = kubeConfig.Name, at
		}
		if reachedBy == secret && on == own {
			return name, true
		}
	}
	return "", false
}
