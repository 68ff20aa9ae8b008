package placement

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// tolerated returns the clusters of a list without taints that the seed does not tolerate, and those
// that are left out.
func (s *placer) tolerated(clusters []string) (open, left []string) {
	for _, name := range clusters {
		if s.tolerates(s.inventory.Clusters[name].Taints) {
			open = append(open, name)
		} else {
			left = append(left, name)
		}
	}
	return open, left
}

// tolerates reports whether the seed tolerates all of some taints.
func (s *placer) tolerates(taints []v1alpha1.ClusterTaint) bool {
	return !slices.ContainsFunc(taints, func(taint v1alpha1.ClusterTaint) bool {
		return !slices.ContainsFunc(s.seed.Spec.Tolerations, func(t v1alpha1.ClusterToleration) bool {
			return t.Key == taint.Key && (t.Value == "" || t.Value == taint.Value)
		})
	})
}

// openClusters returns the clusters of a role that the seed may select, in order, and those that it
// may not because of their taints; not to be changed.
func (s *placer) openClusters(role v1alpha1.ClusterRole) (open, left []string) {
	if s.open == nil {
		s.open = map[v1alpha1.ClusterRole][2][]string{}
	}
	known, ok := s.open[role]
	if !ok {
		known[0], known[1] = s.tolerated(s.withRole(role))
		s.open[role] = known
	}
	return known[0], known[1]
}

// tainted is the problem of an object that could go only to clusters whose taints the seed does not
// tolerate.
func (s *placer) tainted(o *manifest.Object, left []string) error {
	var names []string
	for _, name := range first(left, 8) {
		if taints := s.inventory.Clusters[name].Taints; len(taints) > 0 {
			name += " (" + taintsText(taints) + ")"
		}
		names = append(names, name)
	}
	return o.Problem(v1alpha1.ReasonNoClusterMatches, "the seed does not tolerate the taints of the clusters that it could go to: "+strings.Join(names, ", "),
		"Add tolerations to the Seed, or name a cluster in annotation "+v1alpha1.AnnotationCluster+".").WithField("spec.tolerations")
}

func taintsText(taints []v1alpha1.ClusterTaint) string {
	var texts []string
	for _, t := range taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// withoutTainted says of a why which clusters are left out because of their taints.
func withoutTainted(why string, left []string) string {
	if len(left) == 0 {
		return why
	}
	return why + "; it does not tolerate the taints of " + strings.Join(first(left, 3), ", ")
}
