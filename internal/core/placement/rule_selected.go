package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var selected = Rule{
	Name: "selected",
	Doc:  "Everything else goes to the clusters of the seed's role that it selects, workload clusters by default; without a selector to those it creates, else to all; with role Management to its management cluster. What only serves others, in a Namespace that no seed contains for the clusters that the seed creates, goes to the management cluster.",
	match: func(s *placer, n *node) (decision, error) {
		if s.selection == nil {
			clusters, err := s.selectedClusters(n.object)
			if err != nil {
				return decision{}, err
			}
			s.selection = &decision{clusters: clusters, why: withoutTainted(s.selectionWhy(), s.leftOut())}
		}
		if n.kind.serves && s.isNowhere(n, s.selection.clusters) {
			name, err := s.management(n.object)
			return decision{clusters: []string{name}, why: fmt.Sprintf("no seed contains Namespace %q for %s, which the seed creates, so it is for what creates it", n.object.ID.Namespace, s.selection.clusters[0])}, err
		}
		return *s.selection, nil
	},
}

// selectedClusters returns the clusters that the seed is planted on, by its role and selector. No
// match is an error and not an empty list: an object that goes nowhere would count as removed.
func (s *placer) selectedClusters(o *manifest.Object) ([]string, error) {
	switch s.seed.Spec.Role {
	case "", v1alpha1.SeedRoleWorkload:
		return s.selectedWorkloads(o)
	case v1alpha1.SeedRoleManagement:
		if s.seed.Spec.ClusterSelector == nil {
			name, err := s.management(o)
			return []string{name}, err
		}
		open, _ := s.openClusters(v1alpha1.RoleManagement)
		return s.selectedAmong(o, open, "management cluster")
	case v1alpha1.SeedRoleAny:
		management, left := s.openClusters(v1alpha1.RoleManagement)
		workload, others := s.openClusters(v1alpha1.RoleWorkload)
		all := union(slices.Concat(management, workload))
		if left = slices.Concat(left, others); s.seed.Spec.ClusterSelector == nil {
			switch {
			case len(all) == 0 && len(left) > 0:
				return nil, s.tainted(o, left)
			case len(all) == 0:
				return nil, o.Problem(v1alpha1.ReasonNoWorkloadCluster, "there is no cluster", "Declare a Cluster.")
			}
			return all, nil
		}
		return s.selectedAmong(o, all, "cluster")
	}
	return nil, o.Problem(v1alpha1.ReasonInvalidPlacement, fmt.Sprintf("the seed's role %q is unknown", s.seed.Spec.Role), "Write Workload, Management or Any in spec.role of the Seed.").WithField("spec.role")
}

// leftOut returns the clusters that the seed would select but for their taints.
func (s *placer) leftOut() []string {
	var left []string
	if s.seed.Spec.Role != v1alpha1.SeedRoleManagement {
		_, left = s.openClusters(v1alpha1.RoleWorkload)
	}
	switch selector := s.seed.Spec.ClusterSelector; {
	case s.seed.Spec.Role == v1alpha1.SeedRoleAny, s.seed.Spec.Role == v1alpha1.SeedRoleManagement && selector != nil:
		_, management := s.openClusters(v1alpha1.RoleManagement)
		left = slices.Concat(management, left)
	case selector == nil && len(s.created()) > 0:
		_, left = s.tolerated(s.created())
	}
	if len(left) == 0 {
		return nil
	}
	selector, err := catalog.SelectorOf(s.seed.Spec.ClusterSelector)
	return slices.DeleteFunc(slices.Clone(left), func(name string) bool {
		return s.seed.Spec.ClusterSelector != nil && err == nil && !selector.Matches(labels.Set(s.inventory.Clusters[name].Labels))
	})
}

// selectedWorkloads returns the workload clusters that the seed is planted on: those that its
// selector matches, without one those that it creates, else all. The selector of a seed for
// management clusters says nothing of them.
func (s *placer) selectedWorkloads(o *manifest.Object) ([]string, error) {
	workload, left := s.openClusters(v1alpha1.RoleWorkload)
	if s.seed.Spec.ClusterSelector != nil && s.seed.Spec.Role != v1alpha1.SeedRoleManagement {
		return s.selectedAmong(o, workload, "workload cluster")
	}
	if created := s.created(); len(created) > 0 {
		open, left := s.tolerated(created)
		if len(open) == 0 {
			return nil, s.tainted(o, left)
		}
		return open, nil
	}
	if len(workload) == 0 && len(left) > 0 {
		return nil, s.tainted(o, left)
	}
	if len(workload) == 0 {
		if at, broken := s.inventory.AnyBroken(); broken {
			return nil, o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("there is no workload cluster, and %s cannot be used and may declare one", at), "Correct that document.")
		}
		return nil, o.Problem(v1alpha1.ReasonNoWorkloadCluster, "there is no workload cluster", "Declare a Cluster with spec.role Workload.")
	}
	return workload, nil
}

// selectedAmong returns those of some clusters that the seed's selector matches.
//
// A variant is asked only about its own clusters; the selector may match none of them while it
// matches others. Then it is asked about all, and what is not of the variant is left out later.
func (s *placer) selectedAmong(o *manifest.Object, clusters []string, what string) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.seed.Spec.ClusterSelector)
	if err != nil {
		return nil, o.Problem(v1alpha1.ReasonInvalidPlacement, "the seed's clusterSelector is invalid: "+err.Error(), "Correct spec.clusterSelector of the Seed.").WithField("spec.clusterSelector")
	}
	matching := slices.DeleteFunc(slices.Clone(clusters), func(name string) bool {
		return !selector.Matches(labels.Set(s.inventory.Clusters[name].Labels))
	})
	if len(matching) == 0 && len(s.among) > 0 {
		s.among, s.open, s.selection = nil, nil, nil
		return s.selectedClusters(o)
	}
	if left := s.leftOut(); len(matching) == 0 && len(left) > 0 {
		return nil, s.tainted(o, left)
	}
	if len(matching) == 0 {
		return nil, o.Problem(v1alpha1.ReasonNoClusterMatches, fmt.Sprintf("no %s matches the seed's clusterSelector %q", what, selector),
			"Label one of: "+strings.Join(first(clusters, 8), ", ")+"; or change the selector.").WithField("spec.clusterSelector")
	}
	return matching, nil
}

// created returns the workload clusters that the seed itself creates.
func (s *placer) created() []string {
	if s.made == nil {
		names := slices.DeleteFunc(s.inventory.WithRole(v1alpha1.RoleWorkload), func(name string) bool {
			return !creates(s.seed, s.inventory, name)
		})
		s.made = &names
	}
	return *s.made
}

// selectionWhy returns the Why of selectedClusters, in the same order of cases.
func (s *placer) selectionWhy() string {
	among := map[v1alpha1.SeedRole]string{v1alpha1.SeedRoleManagement: "management clusters", v1alpha1.SeedRoleAny: "clusters"}[s.seed.Spec.Role]
	if selector := s.seed.Spec.ClusterSelector; selector != nil {
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			return "the seed selects all " + cmp.Or(among, "workload clusters")
		}
		if among != "" {
			return fmt.Sprintf("the seed selects %s with %s", among, metav1.FormatLabelSelector(selector))
		}
		return "the seed selects " + metav1.FormatLabelSelector(selector)
	}
	switch {
	case among != "":
		return fmt.Sprintf("the seed's role is %s", s.seed.Spec.Role)
	case len(s.created()) > 0:
		return "the seed creates the cluster and selects no other"
	}
	return "the seed selects no clusters, so it goes to all workload clusters"
}
