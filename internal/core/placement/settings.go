package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// checkSettings refuses settings of a seed that name a cluster which does not exist, or that can have no
// effect whatever the objects are.
func checkSettings(seed *catalog.Seed, inv *catalog.Inventory) error {
	var problems manifest.Problems
	report := func(reason v1alpha1.Reason, field, message, next string) {
		problems = append(problems, manifest.Problem{Reason: reason, Source: seed.At(field), Object: fmt.Sprintf("Seed %q", seed.Name), Seed: seed.Name, Field: field, Message: message, Next: next})
	}
	unknown := func(field, what, name string) {
		if _, there := inv.Clusters[name]; there || inv.Broken(name) != "" {
			return
		}
		report(v1alpha1.ReasonUnknownCluster, field, fmt.Sprintf("%s: there is no cluster %q", what, name), useOneOf(inv))
	}
	if name := seed.Spec.ManagementCluster; name != "" {
		unknown("spec.managementCluster", "spec.managementCluster", name)
		if c, there := inv.Clusters[name]; there && c.Role != v1alpha1.RoleManagement {
			report(v1alpha1.ReasonUnknownCluster, "spec.managementCluster", fmt.Sprintf("spec.managementCluster is %q, which is a workload cluster", name), "Name a management cluster, or give the Cluster spec.role Management.")
		}
	}
	for i, toleration := range seed.Spec.Tolerations {
		if toleration.Key == "" {
			report(v1alpha1.ReasonMissingField, fmt.Sprintf("spec.tolerations[%d].key", i), "the toleration has no key, so it tolerates nothing", "Write the key of the taint.")
		}
	}
	for i, o := range seed.Spec.Overrides {
		for j, name := range o.Clusters {
			unknown(fmt.Sprintf("spec.overrides[%d].clusters[%d]", i, j), fmt.Sprintf("override %q", o.Name), name)
		}
	}
	if r := seed.Spec.Render; r != nil && r.Kustomize != nil {
		for i, v := range r.Kustomize.Variants {
			for j, name := range v.Clusters {
				unknown(fmt.Sprintf("spec.render.kustomize.variants[%d].clusters[%d]", i, j), "variant "+v.Overlay, name)
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// useOneOf returns the next step for the name of a cluster that does not exist.
func useOneOf(inv *catalog.Inventory) string {
	if all := inv.Names(); len(all) > 0 {
		return "Use one of: " + strings.Join(first(all, 8), ", ") + "; or declare it."
	}
	return "Declare a Cluster of that name."
}

// unusedRules warns of placement rules of the seed that are true of none of its objects, or of no cluster:
// they are stale or mistyped, and the objects that they are meant for went elsewhere. While a document
// may declare more clusters, a rule may be for those.
func unusedRules(seed *catalog.Seed, inv *catalog.Inventory) ([]manifest.Problem, error) {
	if len(seed.Spec.Placement) == 0 {
		return nil, nil
	}
	objects := seed.Objects()
	s := newPlacer(seed, objects, inv)
	rules, err := s.compiledRules()
	if err != nil {
		return nil, err
	}
	_, uncertain := inv.MayDeclareMore()
	var warnings []manifest.Problem
	for _, r := range rules {
		part, message := "", ""
		if r.objects != nil && !slices.ContainsFunc(objects, func(o manifest.Object) bool {
			holds, err := s.evaluate(r, r.objects, &o, nil)
			return holds || err != nil
		}) {
			part, message = "objects", "is true of no object of the seed"
		} else if r.everywhere && !uncertain && len(objects) > 0 {
			if names, err := r.clustersOf(s, &objects[0]); err == nil && len(names) == 0 {
				part, message = "clusters", "is true of no cluster"
			}
		}
		if part != "" {
			p := s.ruleProblem(r, part, fmt.Sprintf("%s of rule %q %s, so the rule places nothing", part, r.rule.Name, message), "Correct the expression, or remove the rule.")
			p.Reason = v1alpha1.ReasonPlacementUnused
			warnings = append(warnings, p)
		}
	}
	return warnings, nil
}
