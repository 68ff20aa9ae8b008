package template

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// A compiled template is a reconciler object with gaps for names. A fleet has as many reconciler
// objects as tiers, and nearly all differ in nothing but names; rendering and checking each would cost
// more than all else of planning. So a template is rendered and checked once for each set of other
// variables, with marks for the names, and the result is cut at the marks.
//
// That is exact because of three conditions, and where one does not hold the template is
// rendered as always: the template only quotes names, in no other action than those of
// compilableActions; each mark comes out as a whole value; and names have no character that any quoting
// changes. TestCompiledTemplatesRenderWhatTemplatesRender compares the two.
type compiled struct {
	plain, stamped []segment
	text           []byte // for the next object
}

// segment is a part of an object's text, and the mark that follows it; empty at the end.
type segment struct {
	text []byte
	mark string
}

// compiledKey is what a template is compiled for: all variables that change more than names. Labels and the
// type of the cluster are not part of it, because no compilable action has them.
type compiledKey struct {
	namespace, tier, dependsOn, checks string
	source                             v1alpha1.ObjectReference
	decryption                         v1alpha1.Decryption
	decrypts, kubeConfig, wait         bool
	kubeConfigKey                      string
}

// compilableActions are the actions that a compilable template may have, each as text/template writes it,
// and whether it must be inside of another. None does anything with a name but quote it, or
// compares it.
var compilableActions = map[string]bool{
	"quote .Name": false, "quote .Namespace": false, "quote .Path": false, "quote .Seed": false, "quote .Cluster": false, "quote .Tier": false,
	"quote .Source.Name": false, "quote .Source.Namespace": false, "ne .Source.Namespace .Namespace": false, ".Wait": false,
	".DependsOn": false, ".KubeConfigSecret": false, ".HealthChecks": false, ".HealthCheckExprs": false, ".Decryption": false,
	"quote $.KubeConfigKey": false, "quote .": true, "quote .Provider": true, ".SecretName": true, "toYaml . | indent 2": true,
}

// isCompilable reports whether a template has no other actions than those.
func isCompilable(t *template.Template) bool {
	return len(t.Templates()) == 1 && !strings.Contains(t.Root.String(), markPrefix) && onlyCompilable(t.Root, false)
}

func onlyCompilable(list *parse.ListNode, inside bool) bool {
	if list == nil {
		return true
	}
	allowed := func(pipe *parse.PipeNode) bool {
		within, known := compilableActions[pipe.String()]
		return known && (inside || !within)
	}
	return !slices.ContainsFunc(list.Nodes, func(node parse.Node) bool {
		switch node := node.(type) {
		case *parse.TextNode:
			return false
		case *parse.ActionNode:
			return !allowed(node.Pipe)
		case *parse.IfNode:
			return !allowed(node.Pipe) || !onlyCompilable(node.List, inside) || !onlyCompilable(node.ElseList, inside)
		case *parse.WithNode:
			return !allowed(node.Pipe) || !onlyCompilable(node.List, true) || !onlyCompilable(node.ElseList, inside)
		}
		return true
	})
}

// maxCompiled bounds for how many keys one template is compiled.
const maxCompiled = 1000

// compiledFor returns the compiled template of a reconciler object; nil where it has to be rendered.
func (t Text) compiledFor(vars *Reconciler, check ReconcilerCheck) *compiled {
	if t.Parsed == nil || len(vars.HealthChecks) > 0 || !hasPlainNames(vars) {
		return nil
	}
	if _, _, err := t.parse(missingFails); err != nil || !t.Parsed.compilable {
		return nil
	}
	key := keyOf(vars)
	known, ok := t.Parsed.compiled[key]
	if !ok && len(t.Parsed.compiled) < maxCompiled {
		if t.Parsed.compiled == nil {
			t.Parsed.compiled = map[compiledKey]*compiled{}
		}
		if !strings.Contains(fmt.Sprint(key), markPrefix) {
			known = compile(t, *vars, check)
		}
		t.Parsed.compiled[key] = known
	}
	return known
}

func keyOf(vars *Reconciler) compiledKey {
	key := compiledKey{namespace: vars.Namespace, tier: vars.Tier, source: vars.Source, kubeConfig: vars.KubeConfigSecret != "", kubeConfigKey: vars.KubeConfigKey, wait: vars.Wait}
	for _, on := range vars.DependsOn {
		key.dependsOn += "n"
		if on.Namespace != "" {
			key.dependsOn += "s"
		}
	}
	if len(vars.HealthCheckExprs) > 0 {
		key.checks = fmt.Sprintf("%q", vars.HealthCheckExprs)
	}
	if vars.Decryption != nil {
		key.decrypts, key.decryption = true, *vars.Decryption
	}
	return key
}

// hasPlainNames reports whether no name has a character that quoting changes, and the object's is a
// valid one.
func hasPlainNames(vars *Reconciler) bool {
	for _, on := range vars.DependsOn {
		if !isPlainName(on.Name) || on.Namespace != "" && !isPlainName(on.Namespace) {
			return false
		}
	}
	secret := vars.KubeConfigSecret
	path, relative := strings.CutPrefix(vars.Path, "./")
	return isPlainName(vars.Name) && isPlainName(vars.Seed) && isPlainName(vars.Cluster) && (secret == "" || isPlainName(secret)) &&
		relative && !slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return !isPlainName(name) })
}

// isPlainName reports whether a text is a DNS subdomain.
func isPlainName(s string) bool {
	const most = 253
	if s == "" || len(s) > most {
		return false
	}
	letter := false // the character before is a letter or digit
	for i := range len(s) {
		c := s[i]
		is := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !is && (!letter && c != '-' || c != '-' && c != '.') || c == '-' && (i == 0 || s[i-1] == '.') {
			return false
		}
		letter = is
	}
	return letter
}

// Marks are what a template is compiled with in place of names.
const (
	markPrefix  = "furrow-gap-"
	markName    = markPrefix + "name"
	markPath    = markPrefix + "path"
	markSeed    = markPrefix + "seed"
	markCluster = markPrefix + "cluster"
	markSecret  = markPrefix + "secret"
	markDigest  = markPrefix + "digest"
)

func markDependsOn(i int) (name, namespace string) {
	return fmt.Sprintf("%son-%d", markPrefix, i), fmt.Sprintf("%sin-%d", markPrefix, i)
}

var marks = regexp.MustCompile(markPrefix + "[a-z]+(-[0-9]+)?")

// compile renders a template with marks; nil where that fails, or where a mark is not a whole value.
func compile(t Text, vars Reconciler, check ReconcilerCheck) *compiled {
	t.Total, t.Parsed = nil, nil
	vars.Name, vars.Path, vars.Seed, vars.Cluster = markName, markPath, markSeed, markCluster
	vars.Labels, vars.ClusterType = nil, ""
	if vars.KubeConfigSecret != "" {
		vars.KubeConfigSecret = markSecret
	}
	vars.DependsOn = slices.Clone(vars.DependsOn)
	for i := range vars.DependsOn {
		on := &vars.DependsOn[i]
		name, namespace := markDependsOn(i)
		if on.Name = name; on.Namespace != "" {
			on.Namespace = namespace
		}
	}
	text, err := Render(t, vars)
	if err != nil {
		return nil
	}
	o, err := check(t.Name, text, vars)
	if err != nil || !marksAreWhole(o.Body) {
		return nil
	}
	o = labelled(o, vars).WithoutAnnotation(v1alpha1.AnnotationRendered)
	plain, err := o.Bytes()
	if err != nil {
		return nil
	}
	stamped, err := o.WithAnnotation(v1alpha1.AnnotationRendered, markDigest).Bytes()
	if err != nil {
		return nil
	}
	return &compiled{plain: cut(plain), stamped: cut(stamped)}
}

// marksAreWhole reports whether all marks in a value are strings of their own, and no keys.
func marksAreWhole(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, one := range value {
			if strings.Contains(key, markPrefix) || !marksAreWhole(one) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(one any) bool { return !marksAreWhole(one) })
	case string:
		return !strings.Contains(value, markPrefix) || marks.FindString(value) == value
	}
	return true
}

// cut cuts a text at its marks.
func cut(text []byte) []segment {
	var segments []segment
	for {
		at := marks.FindIndex(text)
		if at == nil {
			return append(segments, segment{text: text})
		}
		segments = append(segments, segment{text[:at[0]], string(text[at[0]:at[1]])})
		text = text[at[1]:]
	}
}

// instantiate returns the reconciler object of a tier.
func (s *compiled) instantiate(vars *Reconciler) Rendered {
	values := map[string]string{markName: vars.Name, markPath: vars.Path, markSeed: vars.Seed, markCluster: vars.Cluster, markSecret: vars.KubeConfigSecret}
	for i, on := range vars.DependsOn {
		name, namespace := markDependsOn(i)
		values[name], values[namespace] = on.Name, on.Namespace
	}
	s.text = join(s.text[:0], s.plain, values)
	digest := digestOf(s.text)
	values[markDigest] = digest
	s.text = join(s.text[:0], s.stamped, values)
	return Rendered{bytes.Clone(s.text), digest}
}

// join appends the segments to a text, with values at their marks.
func join(text []byte, segments []segment, values map[string]string) []byte {
	for _, p := range segments {
		text = append(text, p.text...)
		if p.mark != "" {
			text = append(text, manifest.Quote(values[p.mark])...)
		}
	}
	return text
}
