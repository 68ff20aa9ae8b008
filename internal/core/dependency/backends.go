package dependency

import (
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// surroundings are indexes that rules about webhooks, policies and aggregated APIs share: what is on
// a cluster, and which workloads are behind a Service.
type surroundings struct {
	*World
	onCluster [][]int32
	plurals   map[manifest.GroupKind][]string
	// pods are what makes or is Pods; made when asked for first, by podsOf.
	pods map[namespaceOn][]int32
	// made has what objects make, by cluster.
	made []makes.Index[int32]
	// groups are those of CustomResourceDefinitions.
	groups map[groupOn]bool
	// inBody are, by vertex, what custom resources name in their bodies (addInBody).
	inBody map[int32][]need
	// needs keeps the results of needsOf by vertex. edges are those of needed, and isNeeded is, by vertex, whether
	// anything needs it.
	needs    [][]need
	edges    map[string][]needEdge
	isNeeded []bool
	// The others are indexes that finders make when they ask first.
	guardsOf       map[groupOn][]int32
	writers        map[groupOn][]writer
	operators      map[int32]bool
	kinds          map[string][]manifest.GroupKind
	ofGroup        map[string][]manifest.GroupKind
	workloads      [][]int32
	configurations [][]int32
	mentioned      map[groupOn][]int32
	plugins        [][]int32
	patchers       map[int32][]int32
	// custom is what needsOfKind returned last, for the kind customIs.
	customIs manifest.GroupKind
	custom   *kindNeeds
}

// groupOn is an API group on a cluster.
type groupOn struct {
	cluster int32
	group   string
}

// namespaceOn is a namespace on a cluster.
type namespaceOn struct {
	cluster   int32
	namespace string
}

// surroundings returns the indexes of all that has content and does not leave, made when they are
// asked for first.
func (w *World) surroundings() *surroundings {
	if w.around != nil {
		return w.around
	}
	s := &surroundings{
		World: w, onCluster: make([][]int32, len(w.graph.clusters)), plurals: map[manifest.GroupKind][]string{},
		made: make([]makes.Index[int32], len(w.graph.clusters)), groups: map[groupOn]bool{}, inBody: map[int32][]need{},
	}
	for _, run := range w.runs {
		s.addMade(run)
		for v, o := range w.those(s.stays, run.first, run.end) {
			cluster := w.graph.vertices[v].cluster
			s.onCluster[cluster] = append(s.onCluster[cluster], v)
			if kind, _, ok := manifest.DefinedScope(*o); ok {
				s.plurals[kind] = []string{o.Text("spec", "names", "plural")}
				s.groups[groupOn{cluster, kind.Group}] = true
			}
		}
	}
	w.around = s
	return s
}

// stays reports whether an object is there and does not leave.
func (s *surroundings) stays(v int32) bool { return s.content[v] != nil && !s.leaving[v] }

// beside lists all on the cluster of a vertex.
func (s *surroundings) beside(v int32) []int32 { return s.onCluster[s.graph.vertices[v].cluster] }

// pluralsOf returns the names that the resources of a kind may have: that of its
// CustomResourceDefinition, else all that are regular.
func (s *surroundings) pluralsOf(kind manifest.GroupKind) []string {
	plurals, known := s.plurals[kind]
	if !known {
		plurals = kind.Plurals()
		s.plurals[kind] = plurals
	}
	return plurals
}

// podLabels are the labels of the pods that an object makes or is; nil where it makes none that
// could answer.
func podLabels(o *manifest.Object) map[string]any {
	switch o.ID.GroupKind() {
	case manifest.GroupKind{Kind: "Pod"}:
		return o.Map("metadata", "labels")
	case manifest.GroupKind{Group: "batch", Kind: "Job"}:
		return nil
	}
	return o.Map("spec", "template", "metadata", "labels")
}

// behind returns the Service that a client configuration names, and the workloads behind it, on the
// cluster of v; nothing where that is in no seed.
func (s *surroundings) behind(v int32, service map[string]any) []int32 {
	id := serviceOf(service)
	at, ok := s.Beside(v, id)
	if !ok || s.leaving[at] || s.content[at] == nil {
		return nil
	}
	found := []int32{at}
	selector := s.content[at].Map("spec", "selector")
	for _, workload := range s.podsOf(namespaceOn{s.graph.vertices[v].cluster, id.Namespace}) {
		if len(selector) > 0 && includes(podLabels(s.content[workload]), selector) {
			found = append(found, workload)
		}
	}
	return found
}

// serviceOf returns the Service that a client configuration names.
func serviceOf(service map[string]any) manifest.ID {
	namespace, _ := service["namespace"].(string)
	name, _ := service["name"].(string)
	return manifest.ID{Kind: "Service", Namespace: namespace, Name: name}
}

// podsOf lists what makes or is Pods in a namespace.
func (s *surroundings) podsOf(at namespaceOn) []int32 {
	if s.pods == nil {
		s.pods = map[namespaceOn][]int32{}
		for cluster, all := range s.onCluster {
			for _, v := range all {
				if podLabels(s.content[v]) != nil {
					key := namespaceOn{index(cluster), s.ID(v).Namespace}
					s.pods[key] = append(s.pods[key], v)
				}
			}
		}
	}
	return s.pods[at]
}

// includes reports whether labels have all of a selector.
func includes(labels, selector map[string]any) bool {
	for key, want := range selector {
		if labels[key] != want {
			return false
		}
	}
	return true
}

// request returns what an API server would ask admission about an object.
func (s *surroundings) request(v int32) *request {
	o := s.content[v]
	kind := o.ID.GroupKind()
	r := &request{kind: kind, version: o.Version, id: o.ID, plurals: s.pluralsOf(kind), labels: o.Labels(), body: o.Body}
	switch {
	case kind == manifest.GroupKind{Kind: "Namespace"}:
		r.namespace, r.known = withName(o.Labels(), o.ID.Name), true
	case o.ID.Namespace != "":
		r.namespace = withName(nil, o.ID.Namespace)
		if n, ok := s.Beside(v, manifest.ID{Kind: "Namespace", Name: o.ID.Namespace}); ok && s.content[n] != nil {
			r.namespace, r.known = withName(s.content[n].Labels(), o.ID.Namespace), true
		} else if labels, listed := s.Cluster(v).Provides.LabelsOf(o.ID.Namespace); listed {
			r.namespace, r.known = withName(maps.Clone(labels), o.ID.Namespace), true
		}
	}
	return r
}

func withName(labels map[string]string, name string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelName] = name
	return labels
}

// made lists what the controllers of Kubernetes make of a workload. Where a webhook refuses that, the
// workload is accepted and never ready.
var made = map[manifest.GroupKind][]manifest.GroupKind{
	{Group: "apps", Kind: "Deployment"}:  {{Group: "apps", Kind: "ReplicaSet"}, {Kind: "Pod"}},
	{Group: "apps", Kind: "StatefulSet"}: {{Group: "apps", Kind: "ControllerRevision"}, {Kind: "Pod"}, {Kind: "PersistentVolumeClaim"}},
	{Group: "apps", Kind: "DaemonSet"}:   {{Group: "apps", Kind: "ControllerRevision"}, {Kind: "Pod"}},
	{Group: "apps", Kind: "ReplicaSet"}:  {{Kind: "Pod"}},
	{Group: "batch", Kind: "Job"}:        {{Kind: "Pod"}},
	{Group: "batch", Kind: "CronJob"}:    {{Group: "batch", Kind: "Job"}, {Kind: "Pod"}},
}

// requestsOf returns what an API server asks admission about an object and about all that is made of
// it.
func (s *surroundings) requestsOf(v int32) []*request {
	own := s.request(v)
	all := []*request{own}
	for _, kind := range made[own.kind] {
		r := *own
		r.kind, r.version, r.plurals, r.body, r.labels = kind, "v1", s.pluralsOf(kind), nil, nil
		if labels, _ := s.content[v].Field("spec", "template", "metadata", "labels"); labels != nil {
			r.labels = manifest.Object{Body: map[string]any{"metadata": map[string]any{"labels": labels}}}.Labels()
		}
		all = append(all, &r)
	}
	return all
}

// component returns all without which some workloads may never be ready, and the workloads
// themselves: what they depend on by edges, what they need to become ready, and what of Kubernetes' own
// kinds their seed has in their Namespace or for the whole cluster. Fields do not say what a workload
// reads as it starts, so what is beside it counts. Custom resources do not, unless something names them.
func (s *surroundings) component(workloads []int32) map[int32]bool {
	members := slices.Clone(workloads)
	for _, workload := range workloads {
		seed, namespace := s.graph.vertices[workload].seed, s.ID(workload).Namespace
		for _, v := range s.beside(workload) {
			if s.graph.vertices[v].seed == seed && isPart(s.ID(v), namespace) {
				members = append(members, v)
			}
		}
	}
	return s.NeedsToBeReady(members...)
}

// isPart reports whether an object may be needed by the workloads of a namespace because it is
// beside them.
func isPart(id manifest.ID, namespace string) bool {
	kind := id.GroupKind()
	switch {
	case !manifest.ServedByKubernetes(kind) || isExempt(kind) || kind.Group == "apiregistration.k8s.io" || kind == manifest.GroupKind{Kind: "Namespace"}:
		return false
	case kind.Group == "rbac.authorization.k8s.io":
		return true
	}
	return id.Namespace == namespace || id.Namespace == ""
}

// isExempt reports whether API servers send no object of a kind to admission webhooks and policies.
func isExempt(kind manifest.GroupKind) bool { return kind.Group == "admissionregistration.k8s.io" }
