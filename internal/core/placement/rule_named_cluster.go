package placement

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// labelClusterName is Cluster API's: the name of the cluster that an object is for.
const labelClusterName = "cluster.x-k8s.io/cluster-name"

var namedCluster = Rule{
	Name: "named-cluster",
	Doc:  "An object that names the cluster it is for, or that a management object owns or refers to, goes where that one goes.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		if name := o.Labels()[labelClusterName]; name != "" {
			if c, ok := s.inventory.Clusters[name]; ok && c.CreatedBy != nil {
				return decision{clusters: []string{c.CreatedBy.On}, why: fmt.Sprintf("label %s: %s", labelClusterName, name)}, nil
			}
			if why := s.inventory.Broken(name); why != "" {
				return decision{}, o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("label %s: %s: %s", labelClusterName, name, why), "Correct that document.").WithField(labelClusterName).WithCluster(name)
			}
			on, err := s.management(o)
			return decision{clusters: []string{on}, why: fmt.Sprintf("label %s: %s", labelClusterName, name)}, err
		}
		return decision{follows: s.managementOwners(o), format: "%s owns it or refers to it"}, nil
	},
}

// managementOwners returns the management objects that o has as owners, or that refer to o by a
// spec field *Ref.
func (s *placer) managementOwners(o *manifest.Object) []*node {
	var owners []*node
	for _, item := range o.Slice("metadata", "ownerReferences") {
		ref, _ := item.(map[string]any)
		id := referenced(ref, o.ID.Namespace)
		if owner, ok := s.nodes[id]; ok && isManagement(owner.object) {
			owners = append(owners, owner)
		}
	}
	return append(owners, s.referrers()[o.ID]...)
}

func isManagement(o *manifest.Object) bool {
	return isManagementKind(o.ID.GroupKind())
}
