package placement

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var selected = Rule{
	Name: "selected",
	Doc:  "Everything else goes to the workload clusters that the seed selects; without a selector to those it creates, else to all.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		clusters, err := s.selectedClusters(o)
		return decision{clusters: clusters, why: s.selectionWhy()}, err
	},
}

// selectedClusters returns the workload clusters that the seed is planted on: those that its
// selector matches, without one those that it creates, else all. No match is an error and not an
// empty list: an object that goes nowhere would count as removed.
//
// A variant is asked only about its own clusters; the selector may match none of them while it
// matches others. Then it is asked about all, and what is not of the variant is left out later.
func (s *placer) selectedClusters(o *manifest.Object) ([]string, error) {
	workload := s.withRole(v1alpha1.RoleWorkload)
	if s.seed.Spec.ClusterSelector == nil {
		if created := s.created(); len(created) > 0 {
			return created, nil
		}
		if len(workload) == 0 {
			if at, broken := s.inventory.AnyBroken(); broken {
				return nil, o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("there is no workload cluster, and %s cannot be used and may declare one", at), "Correct that document.")
			}
			return nil, o.Problem(v1alpha1.ReasonNoWorkloadCluster, "there is no workload cluster", "Declare a Cluster with spec.role Workload.")
		}
		return workload, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s.seed.Spec.ClusterSelector)
	if err != nil {
		return nil, o.Problem(v1alpha1.ReasonInvalidPlacement, "the seed's clusterSelector is invalid: "+err.Error(), "Correct spec.clusterSelector of the Seed.").WithField("spec.clusterSelector")
	}
	clusters := slices.DeleteFunc(slices.Clone(workload), func(name string) bool {
		return !selector.Matches(labels.Set(s.inventory.Clusters[name].Labels))
	})
	if len(clusters) == 0 && len(s.among) > 0 {
		s.among = nil
		return s.selectedClusters(o)
	}
	if len(clusters) == 0 {
		return nil, o.Problem(v1alpha1.ReasonNoClusterMatches, fmt.Sprintf("no workload cluster matches the seed's clusterSelector %q", selector),
			"Label one of: "+strings.Join(first(workload, 8), ", ")+"; or change the selector.").WithField("spec.clusterSelector")
	}
	return clusters, nil
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
	if selector := s.seed.Spec.ClusterSelector; selector != nil {
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			return "the seed selects all workload clusters"
		}
		return "the seed selects " + metav1.FormatLabelSelector(selector)
	}
	if len(s.created()) > 0 {
		return "the seed creates the cluster and selects no other"
	}
	return "the seed selects no clusters, so it goes to all workload clusters"
}
