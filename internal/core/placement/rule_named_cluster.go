package placement

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// labelClusterName is Cluster API's: the name of the cluster that an object is for.
const labelClusterName = "cluster.x-k8s.io/cluster-name"

var namedCluster = Rule{
	Name: "named-cluster",
	Doc:  "An object that names the cluster it is for, by a label or its kubeconfig, or that a management object owns or refers to, goes where that one goes.",
	match: func(s *placer, n *node) (decision, error) {
		if name := n.forCluster; name != "" {
			o := n.object
			if c, ok := s.inventory.Clusters[name]; ok && c.CreatedBy != nil {
				return decision{clusters: []string{c.CreatedBy.On}, why: fmt.Sprintf("label %s: %s", labelClusterName, name)}, nil
			}
			if why := s.inventory.Broken(name); why != "" {
				return decision{}, o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("label %s: %s: %s", labelClusterName, name, why), "Correct that document.").WithField(labelClusterName).WithCluster(name)
			}
			on, err := s.management(o)
			return decision{clusters: []string{on}, why: fmt.Sprintf("label %s: %s", labelClusterName, name)}, err
		}
		if on, secret := s.reaches(n); on != "" {
			return decision{clusters: []string{on}, why: "its kubeconfig is Secret " + secret + " there"}, nil
		}
		return decision{follows: s.managementOwners(n), format: "%s owns it or refers to it"}, nil
	},
}

// reaches returns where the kubeconfig is by which an object acts on a cluster that a seed creates, and
// the Secret's name.
func (s *placer) reaches(n *node) (on, secret string) {
	if n.kind.standard {
		return "", ""
	}
	if secret = n.object.Text("spec", "kubeConfig", "secretRef", "name"); secret == "" {
		return "", ""
	}
	if s.kubeConfigs == nil {
		s.kubeConfigs = map[manifest.ID]string{}
		for _, name := range slices.Backward(s.inventory.Names()) { // the first one counts
			if c := s.inventory.Clusters[name]; c.CreatedBy != nil {
				on, of := c.KubeConfigOf()
				s.kubeConfigs[manifest.ID{Kind: "Secret", Namespace: of.Namespace, Name: of.Name}] = on
			}
		}
	}
	return s.kubeConfigs[manifest.ID{Kind: "Secret", Namespace: n.object.ID.Namespace, Name: secret}], secret
}

// managementOwners returns the management objects that an object has as owners, or that refer to it
// by a spec field *Ref.
func (s *placer) managementOwners(n *node) []*node {
	var owners []*node
	for _, item := range n.owners {
		ref, _ := item.(map[string]any)
		id := referenced(ref, n.object.ID.Namespace)
		if owner := s.node(id); owner != nil && owner.kind.management != nil {
			owners = append(owners, owner)
		}
	}
	return append(owners, s.referrers()[n.object.ID]...)
}
