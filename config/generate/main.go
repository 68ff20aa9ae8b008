// Command generate writes what the kustomize base and the chart have of the generated CRDs and
// roles: the Role of the namespaced installation, the roles of users, the rules and CRDs that the
// chart's templates read, and the table of values in the chart's README; and
// docs/troubleshooting.md, which has all reasons. It runs after controller-gen: go generate ./...
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

// generate writes all files below root.
func generate(root string) error {
	crds, kinds, err := readCRDs(filepath.Join(root, "config", "crd", "bases"))
	if err != nil {
		return err
	}
	roles, err := readRoles(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		return err
	}
	controller, found := roles["furrow-controller"]
	if !found {
		return errors.New("config/rbac/role.yaml has no role furrow-controller")
	}
	users := userRoles(kinds)
	out := files{}
	out.add("config/namespaced/role.yaml", rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: controller.Name},
		Rules:      controller.Rules,
	})
	documents := make([]any, len(users))
	for i, role := range users {
		documents[i] = role
	}
	out.add("config/rbac/user_roles.yaml", documents...)
	for _, role := range roles {
		out.add("charts/furrow/files/rules/"+role.Name+".yaml", role.Rules)
	}
	for _, role := range users {
		out.add("charts/furrow/files/rules/"+role.Name+".yaml", role.Rules)
	}
	for name, content := range crds {
		out["charts/furrow/files/crds/"+name] = content
	}
	out["docs/troubleshooting.md"] = troubleshooting()
	if err := out.addReadme(root); err != nil {
		return err
	}
	return out.write(root, "charts/furrow/files/rules", "charts/furrow/files/crds")
}

// kind is one of ours, by the plural of its resource.
type kind struct {
	group, plural string
	written       bool // by people, and not only by the controller
}

// readCRDs returns the CRDs by file, and their kinds by plural.
func readCRDs(dir string) (map[string][]byte, []kind, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, nil, fmt.Errorf("%s has no CRDs: run controller-gen first", dir)
	}
	crds := map[string][]byte{}
	var kinds []kind
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		var crd struct {
			Spec struct {
				Group string
				Names struct{ Plural string }
			}
		}
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		crds[filepath.Base(path)] = content
		plural := crd.Spec.Names.Plural
		kinds = append(kinds, kind{crd.Spec.Group, plural, plural != "plantings"})
	}
	return crds, kinds, nil
}

// readRoles returns the roles that controller-gen wrote, by name.
func readRoles(path string) (map[string]rbacv1.ClusterRole, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roles := map[string]rbacv1.ClusterRole{}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var role rbacv1.ClusterRole
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			return roles, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		roles[role.Name] = role
	}
}

// userRoles returns those that the roles view, edit and admin of Kubernetes aggregate. What view
// may, edit may too, and what edit may, admin, because Kubernetes aggregates them into each other.
func userRoles(kinds []kind) []rbacv1.ClusterRole {
	role := func(name string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
		return rbacv1.ClusterRole{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{
				Name:   "furrow-" + name,
				Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + name: "true"},
			},
			Rules: slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Resources) == 0 }),
		}
	}
	rule := func(of func(kind) bool, verbs ...string) rbacv1.PolicyRule {
		rule := rbacv1.PolicyRule{Verbs: verbs}
		for _, k := range kinds {
			if of(k) {
				rule.APIGroups, rule.Resources = []string{k.group}, append(rule.Resources, k.plural)
			}
		}
		slices.Sort(rule.Resources)
		return rule
	}
	everything := func(kind) bool { return true }
	written := func(k kind) bool { return k.written }
	shown := func(k kind) bool { return !k.written }
	return []rbacv1.ClusterRole{
		role("view", rule(everything, "get", "list", "watch")),
		role("edit", rule(written, "create", "delete", "deletecollection", "patch", "update")),
		// The controller makes again what it shows, if it is still true.
		role("admin", rule(shown, "delete", "deletecollection")),
	}
}

// files are the contents to write, by their path below the root.
type files map[string][]byte

// generated is the first line of what nobody edits.
const generated = "# Generated by 'make generate'; not to be edited.\n"

// add adds a file of YAML documents.
func (f files) add(path string, documents ...any) {
	content := []byte(generated)
	for i, document := range documents {
		text, err := yaml.Marshal(document)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", path, err)) // a value of ours
		}
		if i > 0 {
			content = append(content, "---\n"...)
		}
		content = append(content, text...)
	}
	f[path] = content
}

// write writes the files, and removes from the folders what is none of them, so a kind or role
// that was removed leaves nothing behind.
func (f files) write(root string, folders ...string) error {
	for _, folder := range folders {
		present, err := filepath.Glob(filepath.Join(root, folder, "*"))
		if err != nil {
			return err
		}
		for _, path := range present {
			if _, wanted := f[folder+"/"+filepath.Base(path)]; !wanted {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
	}
	for path, content := range f {
		path = filepath.Join(root, filepath.FromSlash(path))
		err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}
