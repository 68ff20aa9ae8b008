package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var annotation = Rule{
	Name: "annotation",
	Doc:  "An object goes where its own annotations say.",
	match: func(s *placer, n *node) (decision, error) {
		if plugin := writtenByPlugin(n.object); plugin != "" {
			return decision{}, nil
		}
		return s.annotated(n)
	},
}

var pluginAnnotation = Rule{
	Name: "plugin",
	Doc:  "An object goes where a plugin wrote, in the same annotations.",
	match: func(s *placer, n *node) (decision, error) {
		if plugin := writtenByPlugin(n.object); plugin == "" {
			return decision{}, nil
		}
		return s.annotated(n)
	},
}

// writtenByPlugin returns the plugin that wrote where an object goes; empty if a person did, or
// nobody. It is never both: what a person wrote stays, and what plugins wrote besides is dropped.
func writtenByPlugin(o *manifest.Object) (plugin string) {
	if len(o.Written) == 0 {
		return ""
	}
	for _, key := range v1alpha1.PlacementAnnotations {
		plugin = cmp.Or(plugin, o.WrittenBy(key, o.Annotation(key)))
	}
	return plugin
}

// readers return the clusters that the value of an annotation means, one for each of
// v1alpha1.PlacementAnnotations.
var readers = map[string]func(*placer, *manifest.Object, string) ([]string, error){
	v1alpha1.AnnotationCluster:         (*placer).byName,
	v1alpha1.AnnotationClusterSelector: (*placer).bySelector,
	v1alpha1.AnnotationRole:            (*placer).byRole,
	v1alpha1.AnnotationPlanterCluster:  (*placer).byPlanter,
}

// annotated reads the annotations of one object. More than one of them is an error, even if they
// agree today: which of them counts after the next change of the inventory would be a guess.
func (s *placer) annotated(n *node) (decision, error) {
	if len(n.annotations) == 0 {
		return decision{}, nil
	}
	o := n.object
	var d decision
	for _, key := range v1alpha1.PlacementAnnotations {
		value, ok := n.annotations[key].(string)
		if !ok {
			continue
		}
		if d.why != "" {
			return decision{}, o.Problem(v1alpha1.ReasonConflictingPlacement, "several annotations say where it goes: "+d.why+" and "+key, "Keep one.").WithField(key)
		}
		clusters, err := readers[key](s, o, value)
		if err != nil {
			return decision{}, blamed(o.WrittenBy(key, value), err)
		}
		d = decision{clusters: clusters, why: fmt.Sprintf("annotation %s: %s", key, manifest.Printable(value))}
		if plugin := o.WrittenBy(key, value); plugin != "" {
			d.why = fmt.Sprintf("plugin %s wrote %s: %s", plugin, key, manifest.Printable(value))
		}
	}
	return d, nil
}

// blamed says which plugin wrote the annotation that an error is about, if one did.
func blamed(plugin string, err error) error {
	if plugin == "" {
		return err
	}
	p := manifest.ProblemOf(err)
	p.Message = fmt.Sprintf("%s, as plugin %s wrote", p.Message, plugin)
	p.Next = "Correct the plugin. " + p.Next
	return p
}

// byName reads a list of clusters. One whose document cannot be read is left out while others
// remain: what is planted there is held elsewhere, and the object goes on to the others.
func (s *placer) byName(o *manifest.Object, value string) ([]string, error) {
	var clusters []string
	broken := ""
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if s.inventory.Broken(name) != "" {
			broken = name // what is planted there stays
			continue
		}
		if err := s.checkKnown(o, name); err != nil {
			return nil, err
		}
		clusters = append(clusters, name)
	}
	if len(clusters) == 0 {
		return nil, o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("annotation %s names the cluster %q: %s", v1alpha1.AnnotationCluster, broken, s.inventory.Broken(broken)), "Correct that document.").WithField(v1alpha1.AnnotationCluster).WithCluster(broken)
	}
	return clusters, nil
}

// checkKnown returns an error unless there is a cluster of that name.
func (s *placer) checkKnown(o *manifest.Object, name string) error {
	if _, ok := s.inventory.Clusters[name]; ok {
		return nil
	}
	return o.Problem(v1alpha1.ReasonUnknownCluster, fmt.Sprintf("annotation %s: there is no cluster %q", v1alpha1.AnnotationCluster, name), useOneOf(s.inventory)).WithField(v1alpha1.AnnotationCluster).WithCluster(name)
}

// bySelector returns the clusters whose labels match. That none does is an error: an object that
// goes nowhere is nearly always a typo in a label.
func (s *placer) bySelector(o *manifest.Object, value string) ([]string, error) {
	selector, err := labels.Parse(value)
	if err != nil {
		return nil, o.Problem(v1alpha1.ReasonInvalidPlacement, fmt.Sprintf("annotation %s is not a label selector: %v", v1alpha1.AnnotationClusterSelector, err), "Write it as in 'kubectl get -l'.").WithField(v1alpha1.AnnotationClusterSelector)
	}
	clusters, left := s.tolerated(s.matching(selector))
	if len(clusters) == 0 && len(left) > 0 {
		return nil, s.tainted(o, left)
	}
	if len(clusters) == 0 {
		return nil, o.Problem(v1alpha1.ReasonNoClusterMatches, fmt.Sprintf("no cluster has the labels %q", value), "Label a cluster, or change the annotation "+v1alpha1.AnnotationClusterSelector+".").WithField(v1alpha1.AnnotationClusterSelector)
	}
	return clusters, nil
}

func (s *placer) matching(selector labels.Selector) []string {
	return slices.DeleteFunc(s.inventory.Names(), func(name string) bool {
		return !selector.Matches(labels.Set(s.inventory.Clusters[name].Labels))
	})
}

// byRole returns the clusters of a role: the one management cluster, or all selected ones.
func (s *placer) byRole(o *manifest.Object, value string) ([]string, error) {
	switch v1alpha1.ClusterRole(value) {
	case v1alpha1.RoleManagement:
		name, err := s.management(o)
		return []string{name}, err
	case v1alpha1.RoleWorkload:
		return s.selectedWorkloads(o)
	}
	return nil, o.Problem(v1alpha1.ReasonInvalidPlacement, fmt.Sprintf("annotation %s: %q is not a role", v1alpha1.AnnotationRole, value), "Write Management or Workload.").WithField(v1alpha1.AnnotationRole)
}

// byPlanter reads Planter's annotation. A cluster of Planter is one that an object of the same seed
// creates.
func (s *placer) byPlanter(o *manifest.Object, value string) ([]string, error) {
	if value == "SELF" {
		name, err := s.management(o)
		return []string{name}, err
	}
	namespace, name, ok := strings.Cut(value, "|")
	if !ok {
		return nil, o.Problem(v1alpha1.ReasonInvalidPlacement, fmt.Sprintf("annotation %s: %q is neither SELF nor namespace|name", v1alpha1.AnnotationPlanterCluster, value), "Correct the annotation.").WithField(v1alpha1.AnnotationPlanterCluster)
	}
	if s.node(manifest.ID{Group: planterGroup, Kind: "Cluster", Namespace: namespace, Name: name}) == nil {
		return nil, o.Problem(v1alpha1.ReasonUnknownCluster, fmt.Sprintf("annotation %s: the seed has no Cluster %s in namespace %s", v1alpha1.AnnotationPlanterCluster, name, namespace), "Add it to the seed, or correct the annotation.").WithField(v1alpha1.AnnotationPlanterCluster).WithCluster(name)
	}
	return []string{name}, nil
}

// first returns at most n names, and whether there are more by a last "…".
func first(names []string, n int) []string {
	if len(names) <= n {
		return names
	}
	return append(slices.Clone(names[:n]), "…")
}
