package simulator

import (
	"strconv"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// AnnotationCreateAfter says on a creator how many ticks its control plane
// takes, instead of Options.CreateAfter.
const AnnotationCreateAfter = "simulator.furrow.dev/create-after"

func (s *Simulator) isCreator(gk manifest.GroupKind) bool {
	return s.opts.IsCreator != nil && s.opts.IsCreator(gk)
}

func secretID(k key) manifest.ID {
	return manifest.ID{Kind: secretKind.Kind, Namespace: k.namespace, Name: k.name}
}

// conceive begins, once, to create the cluster of a creator.
func (s *Simulator) conceive(c *cluster, creator *live) {
	if creator.conceived {
		return
	}
	creator.conceived = true
	name := creator.id.Name
	made := s.clusters[name]
	if made == nil {
		made = &cluster{spec: Cluster{Name: name, Role: RoleWorkload}}
		s.clusters[name] = made
	}
	if made.creator == nil { // where there are several, the first decides its end
		made.creator, made.creatorHost = creator, c
	}
	after, err := strconv.Atoi(creator.object.Annotation(AnnotationCreateAfter))
	if err != nil || after < 0 {
		after = s.opts.CreateAfter
	}
	s.later(c, creator, creations, after, s.startControlPlane)
}

// startControlPlane starts the API server, updates the creator's status and
// creates the kubeconfig Secret in the creator's namespace.
func (s *Simulator) startControlPlane(c *cluster, creator *live) {
	if _, broken := s.faults[c.spec.Name][creator.id]; broken {
		s.later(c, creator, creations, 1, s.startControlPlane)
		return
	}
	made := s.clusters[creator.id.Name]
	if creator.deleting || made == nil {
		return
	}
	if !made.up {
		made.up = true
		s.addDefaults(made)
	}
	creator.initialised = true
	c.addKubeConfig(namespaceOf(creator), made.spec.Name)
}

// namespaceOf returns where what belongs to a creator lies.
func namespaceOf(creator *live) string {
	if creator.id.Namespace == "" {
		return "default"
	}
	return creator.id.Namespace
}

// finishCreator ends the deletion of a creator: its cluster is destroyed.
func (s *Simulator) finishCreator(c *cluster, creator *live) {
	made := s.clusters[creator.id.Name]
	if made != nil && made.creator == creator {
		s.destroy(made)
		delete(c.objects, secretID(key{namespaceOf(creator), kubeConfigName(made.spec.Name)}))
	}
	s.vanish(c, creator)
}

// destroy takes a cluster away with all that is on it. What a Kustomization
// still had there is lost, and that Kustomization can never end its deletion.
func (s *Simulator) destroy(c *cluster) {
	for _, l := range c.sorted(func(l *live) bool { return l.owner != nil && !l.owner.gone }) {
		s.lose(c, l.id, l.owner, "its cluster was destroyed with its creator "+c.creator.id.String())
	}
	s.forget(c)
	c.up = false
	delete(s.clusters, c.spec.Name)
}

// forget drops the controllers' state of a deleted cluster.
func (s *Simulator) forget(c *cluster) {
	for _, k := range c.kustomizations {
		k.gone = true
	}
	c.epoch++
}
