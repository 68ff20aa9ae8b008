package placement

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var followTargets = Rule{
	Name: "follow-targets",
	Doc:  "An autoscaler, disruption budget, route, monitor or network policy goes where the workloads and Services go that it names or selects.",
	match: func(s *placer, n *node) (decision, error) {
		if n.kind.targets == nil {
			return decision{}, nil
		}
		return decision{follows: n.kind.targets(s, n), format: "it is for %s"}, nil
	},
}

const gatewayGroup = "gateway.networking.k8s.io"

// targets say of the kinds whose objects are about workloads or Services which ones these are.
var targets = map[manifest.GroupKind]func(*placer, *node) []*node{
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:      targetIn("spec", "scaleTargetRef"),
	{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"}: targetIn("spec", "targetRef"),
	{Group: "keda.sh", Kind: "ScaledObject"}:                     targetIn("spec", "scaleTargetRef"),

	{Group: "policy", Kind: "PodDisruptionBudget"}:      podsIn("spec", "selector"),
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: podsIn("spec", "podSelector"),
	{Group: "cilium.io", Kind: "CiliumNetworkPolicy"}:   podsIn("spec", "endpointSelector"),
	{Group: "monitoring.coreos.com", Kind: "PodMonitor"}: func(s *placer, n *node) []*node {
		return s.monitored(n, (*placer).podsSelected)
	},
	{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}: func(s *placer, n *node) []*node {
		return s.monitored(n, (*placer).servicesSelected)
	},

	{Group: "networking.k8s.io", Kind: "Ingress"}:           (*placer).servicesNamed,
	{Group: gatewayGroup, Kind: "HTTPRoute"}:                (*placer).servicesNamed,
	{Group: gatewayGroup, Kind: "GRPCRoute"}:                (*placer).servicesNamed,
	{Group: gatewayGroup, Kind: "TCPRoute"}:                 (*placer).servicesNamed,
	{Group: gatewayGroup, Kind: "TLSRoute"}:                 (*placer).servicesNamed,
	{Group: gatewayGroup, Kind: "UDPRoute"}:                 (*placer).servicesNamed,
	{Group: gatewayGroup, Kind: "BackendTLSPolicy"}:         (*placer).servicesNamed,
	{Group: "route.openshift.io", Kind: "Route"}:            (*placer).servicesNamed,
	{Group: "traefik.io", Kind: "IngressRoute"}:             (*placer).servicesNamed,
	{Group: "traefik.io", Kind: "IngressRouteTCP"}:          (*placer).servicesNamed,
	{Group: "projectcontour.io", Kind: "HTTPProxy"}:         (*placer).servicesNamed,
	{Group: "networking.istio.io", Kind: "VirtualService"}:  (*placer).servicesNamed,
	{Group: "networking.istio.io", Kind: "DestinationRule"}: (*placer).servicesNamed,
}

// targetIn returns what finds the object that a field names by kind and name; a Deployment where it
// gives no kind.
func targetIn(path ...string) func(*placer, *node) []*node {
	return func(s *placer, n *node) []*node {
		ref := n.object.Map(path...)
		id := referenced(ref, n.object.ID.Namespace)
		if id.Kind == "" {
			id.Group, id.Kind = "apps", "Deployment"
		}
		return s.known([]manifest.ID{id})
	}
}

// podsIn returns what finds the workloads of the Namespace whose Pods a field selects.
func podsIn(path ...string) func(*placer, *node) []*node {
	return func(s *placer, n *node) []*node {
		return s.podsSelected(n.object.ID.Namespace, selectorOf(n.object.Map(path...)))
	}
}

// monitored returns what a monitor of Prometheus selects, in the namespaces that it selects.
func (s *placer) monitored(n *node, selected func(*placer, string, *metav1.LabelSelector) []*node) []*node {
	selector := selectorOf(n.object.Map("spec", "selector"))
	namespaces := []string{n.object.ID.Namespace}
	if in := n.object.Map("spec", "namespaceSelector"); in["any"] == true {
		namespaces = sortedKeys(s.namespaces)
	} else if named := texts(in["matchNames"]); len(named) > 0 {
		namespaces = named
	}
	var found []*node
	for _, namespace := range namespaces {
		found = append(found, selected(s, namespace, selector)...)
	}
	return found
}

// selectorOf reads a selector of labels; nil where there is none.
func selectorOf(fields map[string]any) *metav1.LabelSelector {
	if fields == nil {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if matched, _ := fields["matchLabels"].(map[string]any); len(matched) > 0 {
		selector.MatchLabels = stringsOf(matched)
	}
	for _, e := range mappings(fields["matchExpressions"]) {
		key, _ := e["key"].(string)
		operator, _ := e["operator"].(string)
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(operator), Values: texts(e["values"])})
	}
	return selector
}

// labelIn is a label of an object of a kind, or of the Pods of a workload, in a namespace.
type labelIn struct {
	services              bool
	namespace, key, value string
}

// selectedBy returns the workloads whose Pods a Service selects.
func (s *placer) selectedBy(service *manifest.Object) []*node {
	wanted := stringsOf(service.Map("spec", "selector"))
	if len(wanted) == 0 {
		return nil
	}
	return s.podsSelected(service.ID.Namespace, &metav1.LabelSelector{MatchLabels: wanted})
}

// podsSelected returns the workloads of a namespace whose Pods a selector matches, in order. An empty
// one matches all.
func (s *placer) podsSelected(namespace string, selector *metav1.LabelSelector) []*node {
	return s.selected(namespace, selector, false)
}

// servicesSelected returns the Services of a namespace that a selector matches, in order.
func (s *placer) servicesSelected(namespace string, selector *metav1.LabelSelector) []*node {
	return s.selected(namespace, selector, true)
}

func (s *placer) selected(namespace string, selector *metav1.LabelSelector, services bool) []*node {
	matches, err := metav1.LabelSelectorAsSelector(selector) // nil selects nothing
	if err != nil || selector == nil {
		return nil
	}
	var candidates []*node
	if keys := sortedKeys(selector.MatchLabels); len(keys) > 0 {
		candidates = s.byLabel()[labelIn{services, namespace, keys[0], selector.MatchLabels[keys[0]]}]
	} else {
		candidates = s.contentOf(namespace)
	}
	var found []*node
	for _, n := range candidates {
		if isOf(n, services) && matches.Matches(labelsFor(n)) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, byOrder)
	return found
}

func isOf(n *node, services bool) bool {
	if services {
		return n.kind.GroupKind == serviceKind
	}
	return n.kind.workload
}

// labelsFor returns the labels by which a Service, or the Pods of a workload, are selected.
func labelsFor(n *node) labels.Set {
	if n.kind.workload {
		return podLabels(n.object, n.kind.podPath)
	}
	return n.object.Labels()
}

// byLabel returns the workloads and Services by their labels, which are read when first asked for.
func (s *placer) byLabel() map[labelIn][]*node {
	if s.labelled != nil {
		return s.labelled
	}
	s.labelled = map[labelIn][]*node{}
	for _, k := range s.kinds {
		services := k.GroupKind == serviceKind
		if !services && !k.workload {
			continue
		}
		for _, n := range k.nodes {
			for key, value := range labelsFor(n) {
				at := labelIn{services, n.object.ID.Namespace, key, value}
				s.labelled[at] = append(s.labelled[at], n)
			}
		}
	}
	return s.labelled
}

// servicesNamed returns the Services that a route names: by the name in a mapping, with its namespace
// where it gives one, or by a host. What it is attached to is none.
func (s *placer) servicesNamed(n *node) []*node {
	var found []*node
	add := func(namespace, name string) {
		if to := s.node(manifest.ID{Kind: "Service", Namespace: namespace, Name: name}); to != nil && !slices.Contains(found, to) {
			found = append(found, to)
		}
	}
	own := n.object.ID.Namespace
	var visit func(any)
	visit = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				visit(item)
			}
		case map[string]any:
			kind, typed := v["kind"].(string)
			if name, _ := v["name"].(string); name != "" && (!typed || kind == "Service") {
				namespace, _ := v["namespace"].(string)
				if namespace == "" {
					namespace = own
				}
				add(namespace, name)
			}
			if host, _ := v["host"].(string); host != "" {
				name, rest, _ := strings.Cut(host, ".")
				namespace, _, _ := strings.Cut(rest, ".")
				if namespace == "" {
					namespace = own
				}
				add(namespace, name)
			}
			for field, item := range v {
				if field != "parentRefs" {
					visit(item)
				}
			}
		}
	}
	visit(n.object.Body["spec"])
	slices.SortFunc(found, byOrder)
	return found
}
