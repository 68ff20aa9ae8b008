package law

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
)

// pack is a package: how its manifests are made from the files of its project.
type pack struct {
	name string
	// namespace is that of objects without one; the package gets a Namespace of this name.
	namespace string
	parts     []part
	// plainSecrets reports whether it has Secrets that are not encrypted.
	plainSecrets bool
	// disabledRules are the rules of dependencies that it switches off.
	disabledRules []string
}

// part makes YAML documents.
type part func(ctx context.Context, b *builder) ([]byte, error)

// builder makes packages from what make servers downloaded.
type builder struct {
	bin servers.Bin
	// home is the HOME of programs.
	home string
}

func (b *builder) path(name string) string {
	return filepath.Join(b.bin.Dir(servers.Packages), "packages", filepath.FromSlash(name))
}

func (b *builder) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, &stderr)
	}
	return out, nil
}

// files are files, or the YAML files of folders and what is below them.
func files(names ...string) part {
	return func(_ context.Context, b *builder) ([]byte, error) {
		var all []byte
		for _, name := range names {
			err := filepath.WalkDir(b.path(name), func(path string, entry os.DirEntry, err error) error {
				if err == nil && entry.IsDir() && entry.Name() == "templates" {
					// It is a Helm chart's.
					return filepath.SkipDir
				}
				if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") || filepath.Base(path) == "kustomization.yaml" {
					return err
				}
				content, err := os.ReadFile(path)
				all = append(append(all, "\n---\n"...), content...)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		return all, nil
	}
}

// kustomize builds a folder.
func kustomize(name string) part {
	return func(ctx context.Context, b *builder) ([]byte, error) {
		return b.run(ctx, b.bin.Program(servers.Kubernetes, "kubectl"), "kustomize", "--load-restrictor=LoadRestrictionsNone", b.path(name))
	}
}

// helm renders a chart. What it depends on is not there and is left out.
func helm(name, release, namespace string, values ...string) part {
	return func(ctx context.Context, b *builder) ([]byte, error) {
		chart, err := os.MkdirTemp(b.home, "chart-")
		if err != nil {
			return nil, err
		}
		if err := os.CopyFS(chart, os.DirFS(b.path(name))); err != nil {
			return nil, err
		}
		meta, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
		if err != nil {
			return nil, err
		}
		meta = chartDependencies.ReplaceAll(meta, nil)
		if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), meta, 0o644); err != nil {
			return nil, err
		}
		_ = os.Remove(filepath.Join(chart, "Chart.lock"))
		args := []string{"template", release, chart, "--namespace", namespace, "--no-hooks", "--include-crds"}
		for _, value := range values {
			args = append(args, "--set", value)
		}
		return b.run(ctx, b.bin.Program(servers.Helm, "helm"), args...)
	}
}

var chartDependencies = regexp.MustCompile(`(?m)^dependencies:\n(?:[ -].*\n?)*`)

// text is what a user of packages writes.
func text(documents string) part {
	return func(context.Context, *builder) ([]byte, error) { return []byte(documents), nil }
}

// with sets the variables ${NAME}, ${NAME:=default} and ${NAME/old/new} of a part, as clusterctl
// does. A variable without a value or default is empty.
func with(p part, values ...string) part {
	return func(ctx context.Context, b *builder) ([]byte, error) {
		content, err := p(ctx, b)
		if err != nil {
			return nil, err
		}
		return variable.ReplaceAllFunc(content, func(match []byte) []byte {
			m := variable.FindSubmatch(match)
			if i := slices.Index(values, string(m[1])); i >= 0 {
				return []byte(values[i+1])
			}
			return bytes.Trim(m[2], `"`)
		}), nil
	}
}

var variable = regexp.MustCompile(`\$\{([A-Za-z0-9_]+)(?::?[=-]([^}]*)|/[^}]*)?\}`)

// onManagement places all objects of a part on the management cluster, by an annotation that
// Kustomize adds.
func onManagement(p part) part {
	return func(ctx context.Context, b *builder) ([]byte, error) {
		content, err := p(ctx, b)
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(b.home, "annotated-")
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "all.yaml"), content, 0o644); err != nil {
			return nil, err
		}
		kustomization := "resources: [all.yaml]\ncommonAnnotations: {furrow.dev/role: Management}\n"
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o644); err != nil {
			return nil, err
		}
		return b.run(ctx, b.bin.Program(servers.Kubernetes, "kubectl"), "kustomize", dir)
	}
}

// replaced replaces texts.
func replaced(p part, oldnew ...string) part {
	return func(ctx context.Context, b *builder) ([]byte, error) {
		content, err := p(ctx, b)
		return []byte(strings.NewReplacer(oldnew...).Replace(string(content))), err
	}
}

// without leaves out documents that contain one of some lines.
func without(p part, lines ...string) part {
	return func(ctx context.Context, b *builder) ([]byte, error) {
		content, err := p(ctx, b)
		if err != nil {
			return nil, err
		}
		var kept []string
		for _, document := range documents(content) {
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(document+"\n", line+"\n") }) {
				kept = append(kept, document)
			}
		}
		return []byte(strings.Join(kept, "\n---\n")), nil
	}
}

// make writes the package to the folder of its seed.
func (b *builder) make(ctx context.Context, p pack, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	spec := "{"
	if p.namespace != "" {
		spec += "namespace: " + p.namespace + ", "
	}
	if p.plainSecrets {
		spec += "plainSecrets: Allow, "
	}
	if len(p.disabledRules) > 0 {
		spec += "disabledRules: [" + strings.Join(p.disabledRules, ", ") + "]"
	}
	seed := fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata:\n  name: %s\nspec: %s}\n", p.name, spec)
	if err := os.WriteFile(filepath.Join(dir, "seed.yaml"), []byte(seed), 0o644); err != nil {
		return err
	}
	taken := map[string]bool{}
	for i, part := range p.parts {
		content, err := part(ctx, b)
		if err != nil {
			return fmt.Errorf("make package %s: %w", p.name, err)
		}
		if content, err = distinct(content, taken, p.namespace); err != nil {
			return fmt.Errorf("make package %s: %w", p.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.yaml", i)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// distinct leaves out what is not an object, and all but the first object of a name: examples of one
// project often use the same ones.
func distinct(content []byte, taken map[string]bool, namespace string) ([]byte, error) {
	var kept []string
	for _, document := range documents(content) {
		var o struct {
			APIVersion, Kind string
			Metadata         struct{ Namespace, Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return nil, fmt.Errorf("%w in:\n%.200s", err, document)
		}
		group, _, _ := strings.Cut(o.APIVersion, "/")
		id := group + "/" + o.Kind + "/" + cmp.Or(o.Metadata.Namespace, namespace) + "/" + o.Metadata.Name
		if o.Kind != "" && o.Kind != "List" && o.Metadata.Name == "" || o.Kind == "" || taken[id] {
			continue
		}
		taken[id] = o.Kind != "List"
		kept = append(kept, document)
	}
	return []byte(strings.Join(kept, "\n---\n")), nil
}

// documents splits YAML documents.
func documents(content []byte) []string {
	return regexp.MustCompile(`(?m)^---.*$`).Split(string(content), -1)
}

func namespaceOf(name string) part {
	return text("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + name + "\n")
}
