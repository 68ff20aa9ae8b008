package dependency

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

var network = Rule{
	Name: "network",
	Doc: "On a cluster that a seed creates, pods that do not use the network of their node wait for what brings the pod network; " +
		"and those that do not tolerate nodes without a cloud provider wait for the cloud controller manager.",
	Why:       "Before, the nodes are not ready, and no such pod starts.",
	OrderOnly: true,
	Once:      true,
	Phase:     Installed,
	Draw: func(w *World) {
		created := func(c catalog.Cluster) bool { return c.CreatedBy != nil }
		if !slices.ContainsFunc(w.Inventory.Names(), func(name string) bool { return created(w.Inventory.Clusters[name]) }) {
			return
		}
		all := w.surroundings().networks()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if created(w.Inventory.Clusters[name]) {
				all[name].draw(w, name)
			}
		}
	},
}

// uninitialized is the taint of nodes that wait for a cloud controller manager.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// clusterNetwork is what the pods of a created cluster need of its nodes, and what has pods there.
type clusterNetwork struct {
	networks, clouds []int32
	users            []nodeUser
}

// nodeUser has pods on a cluster.
type nodeUser struct {
	vertex int32
	// needsNetwork and needsCloud report whether its pods start only when nodes have these.
	needsNetwork, needsCloud bool
}

// networks finds, by the name of the cluster, what has or brings something on its nodes.
func (s *surroundings) networks() map[string]*clusterNetwork {
	all := map[string]*clusterNetwork{}
	on := func(cluster string) *clusterNetwork {
		if all[cluster] == nil {
			all[cluster] = &clusterNetwork{}
		}
		return all[cluster]
	}
	for _, run := range s.runs {
		pods, installer := placement.RunsPods(run.kind), installs.IsInstaller(run.kind)
		find := makes.FinderOf(run.kind)
		if !pods && (find == nil || manifest.ServedByKubernetes(run.kind)) {
			continue
		}
		for v, o := range s.those(s.stays, run.first, run.end) {
			switch cluster := s.Cluster(v).Name; {
			case pods:
				on(cluster).addPods(v, o)
			case !installer:
				on(cluster).addMaker(v, find(o, s.sourceOf(v)), false)
			default:
				if target, known := targetOf(s.World, v, o); known {
					on(target).addMaker(v, find(o, s.sourceOf(v)), true)
				}
			}
		}
	}
	return all
}

// addMaker adds a custom resource, or an installer that has pods of its own, too.
func (n *clusterNetwork) addMaker(v int32, things []makes.Thing, installer bool) {
	brings := func(kind string) bool {
		return slices.ContainsFunc(things, func(t makes.Thing) bool { return t.Kind == kind })
	}
	switch {
	case brings(makes.Network):
		n.networks = append(n.networks, v)
	case brings(makes.Cloud):
		n.clouds = append(n.clouds, v)
	case installer:
		n.users = append(n.users, nodeUser{v, true, true})
	}
}

// addPods adds a workload.
func (n *clusterNetwork) addPods(v int32, o *manifest.Object) {
	_, spec := placement.PodsOf(o)
	hostNetwork, _ := spec["hostNetwork"].(bool)
	byName, all := tolerates(spec)
	switch {
	case hostNetwork && o.ID.Kind == "DaemonSet" && bringsNetwork(spec):
		n.networks = append(n.networks, v)
	case byName && isCloudController(o.ID.Name, spec):
		n.clouds = append(n.clouds, v)
	default:
		n.users = append(n.users, nodeUser{v, !hostNetwork, !byName && !all})
	}
}

// bringsNetwork reports whether Pods configure the network of their node.
func bringsNetwork(spec map[string]any) bool {
	return slices.ContainsFunc(hostPaths(spec), func(path string) bool {
		return strings.HasSuffix(path, "/etc/cni/net.d") || path == "/etc/cni"
	})
}

// tolerates reports whether Pods tolerate nodes without a cloud provider, by name or as any others.
func tolerates(spec map[string]any) (byName, all bool) {
	for _, t := range mappingsOf(spec["tolerations"]) {
		key, _ := t["key"].(string)
		byName = byName || key == uninitialized
		all = all || key == "" && t["operator"] == "Exists"
	}
	return byName, all
}

// isCloudController reports whether a workload is a cloud controller manager, by its name, image or flags.
func isCloudController(name string, spec map[string]any) bool {
	says := func(text string) bool {
		return slices.ContainsFunc([]string{"cloud-controller-manager", "cloud-provider", "cloud-manager", "-ccm", "vsphere-cpi"}, func(word string) bool { return strings.Contains(text, word) })
	}
	for _, c := range mappingsOf(spec["containers"]) {
		if image, _ := c["image"].(string); says(image) {
			return true
		}
	}
	return says(name) || inArguments(spec, func(text string) bool { return strings.HasPrefix(text, "--cloud-provider") })
}

// draw draws the edges of one cluster. What brings the network, or is needed for that, waits for neither. Where its
// pods need the network all the same, neither can be first.
func (n *clusterNetwork) draw(w *World, cluster string) {
	forNetwork, forCloud := w.NeedsToBeReady(n.networks...), w.NeedsToBeReady(n.clouds...)
	for _, u := range n.users {
		if n.isPart(w, u.vertex) || !w.draws(u.vertex) {
			continue
		}
		switch {
		case !placement.RunsPods(w.ID(u.vertex).GroupKind()): // a chart may have no pods
		case u.needsNetwork && forNetwork[u.vertex]:
			n.warnOfCircle(w, u.vertex, "the network", n.networks)
		case u.needsCloud && forCloud[u.vertex]:
			n.warnOfCircle(w, u.vertex, "nodes that have a cloud provider", n.clouds)
		}
		if forNetwork[u.vertex] || forCloud[u.vertex] {
			continue
		}
		if u.needsNetwork {
			for _, to := range n.networks {
				w.Wait(u.vertex, to, Reason{Field: "spec", Why: "its pods need the network, which that brings"})
			}
		}
		if u.needsCloud {
			for _, to := range n.clouds {
				w.Wait(u.vertex, to, Reason{Field: "spec", Why: "its pods need nodes that have a cloud provider"})
			}
		}
	}
	n.warn(w, cluster)
}

// warnOfCircle reports pods that start only after what needs them.
func (n *clusterNetwork) warnOfCircle(w *World, v int32, need string, from []int32) {
	chain := w.whyNeeded(from, v)
	w.Warn(v, Finding{Reason: v1alpha1.ReasonReadinessDeadlock, Cluster: w.Cluster(v).Name,
		Message: fmt.Sprintf("it never becomes ready: its pods need %s, and what brings that needs them to become ready: %s", need, strings.Join(chain, "; ")),
		Next:    "Set hostNetwork and tolerations for these pods if they can start before, or remove one of the dependencies."})
}

// isPart reports whether a workload belongs to what brings the network: it is of the same seed and Namespace.
func (n *clusterNetwork) isPart(w *World, v int32) bool {
	return placement.RunsPods(w.ID(v).GroupKind()) && slices.ContainsFunc(slices.Concat(n.networks, n.clouds), func(of int32) bool {
		return w.graph.vertices[of].seed == w.graph.vertices[v].seed && w.namespaceOf(of) == w.namespaceOf(v) && w.ID(v).Namespace != "kube-system"
	})
}

// bareControlPlanes are the kinds of control planes of Cluster API that come without a pod network.
var bareControlPlanes = []string{"KubeadmControlPlane", "KamajiControlPlane"}

// addons are the kinds by which a management cluster brings more to the clusters that it creates.
var addons = []manifest.GroupKind{
	{Group: "addons.cluster.x-k8s.io", Kind: "ClusterResourceSet"}, {Group: "addons.cluster.x-k8s.io", Kind: "HelmChartProxy"},
	{Group: "config.projectsveltos.io", Kind: "ClusterProfile"}, {Group: "config.projectsveltos.io", Kind: "Profile"},
}

// warn reports pods on a cluster that is known to be created without a network, where nothing brings one, and nothing
// of unknown content may.
func (n *clusterNetwork) warn(w *World, cluster string) {
	at := slices.IndexFunc(n.users, func(u nodeUser) bool { return u.needsNetwork && w.draws(u.vertex) })
	if at < 0 || len(n.networks) > 0 || len(w.installations().unknown[cluster]) > 0 {
		return
	}
	first, c := n.users[at].vertex, w.Inventory.Clusters[cluster]
	creator, ok := w.Find(Vertex{c.CreatedBy.Seed, c.CreatedBy.Object, c.CreatedBy.On})
	if !ok || w.Object(creator) == nil || !slices.Contains(bareControlPlanes, w.Object(creator).Text("spec", "controlPlaneRef", "kind")) {
		return
	}
	for v := range w.VerticesOf(addons...) {
		if w.graph.vertices[v].cluster == w.graph.vertices[creator].cluster {
			return
		}
	}
	w.Warn(first, Finding{Reason: v1alpha1.ReasonMissingDependency, Cluster: cluster, Missing: true,
		Message: fmt.Sprintf("cluster %s is created without a pod network, and no seed contains one: its pods do not start", cluster),
		Next:    "Add a network such as Cilium, Calico or Flannel; if something else brings it, switch rule network off with spec.disabledRules of the Seed."})
}
