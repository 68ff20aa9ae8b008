package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// operators are the components of one variant: sets of objects that only work together, such as the
// CustomResourceDefinitions, controllers, webhooks, RBAC and Services of one operator.
//
// They are found by union-find over links that manifests state: client configurations, selectors,
// service accounts, bindings, injected certificates, and the right to write the status of a kind.
// What shares a Namespace with an operator and belongs to no other goes along.
//
// Invariant: an object is in at most one component. Objects without any link are in none.
type operators struct {
	*placer
	// vertices are the objects that have links; also of service accounts that are not in the seed.
	vertices map[manifest.ID]*vertex
	// crds are the definitions of the seed by group.
	crds map[string][]*definition
	// in are the operators' components that have a workload or Service in a namespace.
	in map[string][]*component
}

// vertex is an object in the union-find forest, with its links.
type vertex struct {
	id     manifest.ID
	node   *node // nil if the object is not in the seed
	parent *vertex
	links  []link
	// nearest is the link that leads to decider, the nearest member that decides for the component;
	// the zero link at that one.
	nearest   link
	decider   *vertex
	component *component
}

// link is a relation that a manifest states: text says it of the object at this end.
type link struct {
	to   *vertex
	text string
}

// definition is a CustomResourceDefinition of the seed, and the kind that it defines.
type definition struct {
	kind   manifest.GroupKind
	plural string
	node   *node
}

// component is a set of linked objects.
type component struct {
	members []*vertex
	// kinds are those that its CustomResourceDefinitions define.
	kinds []manifest.GroupKind
	// operator reports whether something in it extends the API of its cluster. Otherwise it is a
	// workload with what belongs to it.
	operator bool
	// evidence are the members that decide by what they extend, in order.
	evidence []evidence
	// along are the operators with which it shares a Namespace, or whose bindings name its role.
	along []*component
	node  *node
}

// evidence says which cluster an operator belongs on: what object extends the API by a kind that
// belongs to management clusters, or to the clusters that they manage.
type evidence struct {
	at         *vertex
	text       string
	management bool
}

var inComponent = Rule{
	Name: "component",
	Doc:  "The CustomResourceDefinitions, controllers, webhooks, RBAC and Services of one operator go together: to the management cluster where one of its kinds belongs there, and where resources of its kinds go.",
	match: func(s *placer, n *node) (decision, error) {
		all := s.findOperators()
		if v := n.vertex; v != nil && !v.component.alone() {
			return decision{follows: []*node{v.component.node}, explain: v.why}, nil
		}
		at := all.in[n.object.ID.Namespace]
		if len(at) == 0 || definesAny(at, n.kind.GroupKind) {
			return decision{}, nil
		}
		var d decision
		for _, c := range at {
			d.follows = append(d.follows, c.node)
		}
		d.explain = func() string { return "its Namespace is that of an operator: " + firstReason(at) }
		return d, nil
	},
}

// findOperators makes the components when they are asked for first.
func (s *placer) findOperators() *operators {
	if s.operators == nil {
		f := &operators{placer: s, vertices: map[manifest.ID]*vertex{}, crds: map[string][]*definition{}, in: map[string][]*component{}}
		s.operators = f
		f.define()
		f.findNamers() // and with that accounts
		for _, n := range s.all {
			f.link(n)
		}
		f.collect()
	}
	return s.operators
}

// define indexes the definitions of the seed.
func (f *operators) define() {
	for _, n := range f.resourcesOf(crdKind) {
		kind, _, ok := manifest.DefinedScope(*n.object)
		if !ok {
			continue
		}
		d := &definition{kind: kind, plural: n.object.Text("spec", "names", "plural"), node: n}
		f.crds[kind.Group] = append(f.crds[kind.Group], d)
	}
}

// of returns the vertex of an object, which need not be in the seed.
func (f *operators) of(id manifest.ID) *vertex {
	v, ok := f.vertices[id]
	if !ok {
		v = &vertex{id: id, node: f.node(id)}
		v.parent = v
		f.vertices[id] = v
		if v.node != nil {
			v.node.vertex = v
		}
	}
	return v
}

func (v *vertex) root() *vertex {
	for v.parent != v {
		v.parent = v.parent.parent
		v = v.parent
	}
	return v
}

// join links two objects: a field of the first says something of the second.
func (f *operators) join(from, to manifest.ID, field, verb string) {
	a, b := f.of(from), f.of(to)
	a.links = append(a.links, link{b, fmt.Sprintf("its %s %s %s", field, verb, to)})
	b.links = append(b.links, link{a, fmt.Sprintf("%s of %s %s it", field, from, verb)})
	ra, rb := a.root(), b.root()
	if ra.id.Compare(rb.id) > 0 {
		ra, rb = rb, ra
	}
	rb.parent = ra
}

// joinKnown links an object with one that it names, if that is in the seed.
func (f *operators) joinKnown(from, to manifest.ID, field string) {
	if f.node(to) != nil {
		f.join(from, to, field, "names")
	}
}

// collect makes components of what is linked, and decides which of them are operators.
func (f *operators) collect() {
	ids := slices.SortedFunc(maps.Keys(f.vertices), manifest.ID.Compare)
	var all []*component
	for _, id := range ids {
		v := f.vertices[id]
		root := v.root()
		if root.component == nil {
			root.component = &component{}
			all = append(all, root.component)
		}
		v.component = root.component
		v.component.members = append(v.component.members, v)
	}
	for _, c := range all {
		for _, v := range c.members {
			if v.node != nil {
				f.weigh(c, v, v.node.object)
			}
		}
		c.node = &node{decide: func() (decision, error) { return f.decide(c) }}
		if c.operator {
			f.noteNamespaces(c)
		}
	}
	for _, c := range all {
		f.attach(c)
		c.trace()
	}
}

// noteNamespaces notes in which namespaces an operator runs. The namespaces of every cluster are
// shared with too much to say anything.
func (f *operators) noteNamespaces(c *component) {
	for _, v := range c.members {
		ns := v.id.Namespace
		runs := isWorkload(v.id.GroupKind()) || v.id.GroupKind() == serviceKind
		if ns == "" || ns == "default" || strings.HasPrefix(ns, "kube-") || !runs || slices.Contains(f.in[ns], c) {
			continue
		}
		f.in[ns] = append(f.in[ns], c)
	}
}

// attach lets a component without any evidence of its own go along with the operators of its
// namespaces, and a definition without any link with those that define other kinds of its group.
func (f *operators) attach(c *component) {
	if len(c.evidence) > 0 {
		return
	}
	if len(c.kinds) > 0 {
		for _, d := range f.crds[c.kinds[0].Group] {
			other := d.node.vertex.component
			if len(c.members) == 1 && len(other.members) > 1 && !slices.Contains(c.along, other) {
				c.along = append(c.along, other)
			}
		}
		return
	}
	for _, v := range c.members {
		for _, other := range f.in[v.id.Namespace] {
			if other != c && !slices.Contains(c.along, other) {
				c.along = append(c.along, other)
			}
		}
	}
}

// decide returns where a component goes: where the resources of its kinds go, and to the management
// cluster if one of its kinds belongs there and none of these resources does.
func (f *operators) decide(c *component) (decision, error) {
	d := decision{format: "%s, which is of a kind that it defines, is there"}
	manages := false
	for _, kind := range c.kinds {
		d.follows = append(d.follows, f.resourcesOf(kind)...)
		manages = manages || len(f.resourcesOf(kind)) > 0 && isManagementKind(kind)
	}
	e, ok := c.decisive()
	if !ok {
		for _, other := range c.along {
			d.follows = append(d.follows, other.node)
		}
		return d, nil
	}
	d.why, d.shown = e.String(), &e.at.id
	if manages {
		return d, nil
	}
	if row := e.at.node.kind.management; row != nil && row.Onto == "" {
		d.follows = append(d.follows, e.at.node)
		return d, nil
	}
	name, err := f.management(e.at.node.object)
	d.clusters = []string{name}
	return d, err
}

// alone reports whether a component is one object that belongs to no operator.
func (c *component) alone() bool {
	_, ok := c.decisive()
	return len(c.members) == 1 && len(c.along) == 0 && !ok
}

// decisive returns the first evidence that the component belongs on a management cluster.
func (c *component) decisive() (evidence, bool) {
	at := slices.IndexFunc(c.evidence, func(e evidence) bool { return e.management })
	if at < 0 {
		return evidence{}, false
	}
	return c.evidence[at], true
}

// trace finds for each member the nearest one that decides for the component, and the link that
// leads there.
func (c *component) trace() {
	queue := c.deciders()
	for _, v := range queue {
		v.decider = v
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, l := range queue[0].links {
			if l.to.decider == nil {
				l.to.decider, l.to.nearest = queue[0].decider, back(l.to, queue[0])
				queue = append(queue, l.to)
			}
		}
	}
}

// back returns the link of from that leads to another vertex.
func back(from, to *vertex) link {
	return from.links[slices.IndexFunc(from.links, func(l link) bool { return l.to == to })]
}

// deciders returns the members that decide for the component: those that belong on management
// clusters, else the definitions; none where it only goes along.
func (c *component) deciders() []*vertex {
	var found []*vertex
	for _, e := range c.evidence {
		if e.management && !slices.Contains(found, e.at) {
			found = append(found, e.at)
		}
	}
	if len(found) > 0 {
		return found
	}
	return slices.DeleteFunc(slices.Clone(c.members), func(v *vertex) bool { return v.id.GroupKind() != crdKind })
}

// why returns how an object belongs to its component, and why that goes where it goes.
func (v *vertex) why() string {
	c := v.component
	if v.decider == nil {
		return "it goes along with an operator: " + c.reason()
	}
	reason := c.reason()
	if at := slices.IndexFunc(c.evidence, func(e evidence) bool { return e.management && e.at == v.decider }); at >= 0 {
		if v.decider == v {
			return "it " + c.evidence[at].text
		}
		reason = c.evidence[at].String()
	}
	if v.decider == v {
		return reason
	}
	return fmt.Sprintf("%s; of the same operator, %s", v.nearest.text, reason)
}

func (e evidence) String() string { return fmt.Sprintf("%s %s", e.at.id, e.text) }

// reason returns why a component goes where it goes.
func (c *component) reason() string {
	if len(c.deciders()) == 0 {
		return firstReason(c.along)
	}
	return c.node.why
}

// firstReason returns why the first of some components that is placed goes where it goes.
func firstReason(all []*component) string {
	for _, c := range all {
		if len(c.node.clusters) > 0 && len(c.deciders()) > 0 {
			return c.reason()
		}
	}
	return ""
}

// definesAny reports whether a kind is one of those that the components bring.
func definesAny(all []*component, kind manifest.GroupKind) bool {
	return slices.ContainsFunc(all, func(c *component) bool { return slices.Contains(c.kinds, kind) })
}
