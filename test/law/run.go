package law

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rejection is an object that an API server refused, or one that did not become ready in its batch.
type rejection struct {
	object *object
	// cause is what the refusals of one reason have in common.
	cause   string
	message string
}

func (r rejection) String() string {
	return fmt.Sprintf("%s: %s (level %d): %s: %s", r.object.seed, r.object, r.object.level, r.cause, r.message)
}

// run applies a planned stack to empty clusters, level by level, and notes what is refused.
//
// What a level lacks because it was refused is applied again once the rest of the level is ready,
// as reconcilers do, and only the first refusal counts: one missing dependency is one rejection.
type run struct {
	plan     *planned
	clusters map[string]*cluster
	bundle   []byte

	players    map[string]*player
	kinds      map[string]map[schema.GroupVersionKind]resource
	rejections []rejection
	// batches counts what was finished, and late has what was not ready then.
	batches int
	late    []late
}

// late is an object that was not ready when its batch was all declared.
type late struct {
	unready
	batch int
}

// begin empties the clusters.
func (r *run) begin(ctx context.Context) error {
	r.players, r.kinds, r.rejections, r.late = map[string]*player{}, map[string]map[schema.GroupVersionKind]resource{}, nil, nil
	for name, c := range r.clusters {
		if err := c.empty(ctx); err != nil {
			return err
		}
		var all []*object
		for _, o := range r.plan.objects {
			if o.cluster == name {
				all = append(all, o)
			}
		}
		r.kinds[name] = defined(c, all)
		r.players[name] = newPlayer(c, r.bundle, r.kinds[name], r.plan.creates[name] != nil, all)
	}
	for _, creator := range r.plan.creates {
		r.players[creator.cluster].created[creator] = false
	}
	return nil
}

// worst applies each level in its worst order: first what can refuse others, and what a controller
// may delete; then each object of the level is tried by itself, with nothing else of the level
// declared, as Flux tries all before it applies any. An object that is taken now is taken in every
// order. Then it applies the level in several random orders.
//
// Before a level, it tries the objects of the next one that wait for it by one of some rules. A
// boundary between tiers that no such object needs is returned.
func (r *run) worst(ctx context.Context, random *rand.Rand, orders int, rules ...string) (needless []string, err error) {
	levels := r.plan.levels()
	for i, level := range levels {
		if i+1 < len(levels) {
			why, err := r.boundary(ctx, level, levels[i+1], rules)
			if err != nil {
				return nil, err
			}
			if why != "" {
				needless = append(needless, fmt.Sprintf("between levels %d and %d: %s", level[0].level, levels[i+1][0].level, why))
			}
		}
		first, rest := split(level, func(o *object) bool { return closes(o) || isToken(o) })
		if err := r.declare(ctx, first); err != nil {
			return nil, err
		}
		for _, o := range rest {
			if refused, err := r.try(ctx, o, true); err != nil {
				return nil, err
			} else if refused != nil {
				r.rejections = append(r.rejections, *refused)
			}
		}
		if err := r.declare(ctx, shuffled(rest, random)); err != nil {
			return nil, err
		}
		if err := r.again(ctx, level, random, orders); err != nil {
			return nil, err
		}
		if err := r.finish(ctx, level); err != nil {
			return nil, err
		}
	}
	return needless, nil
}

// boundary reports why a boundary between two levels is needless: no object beyond it that waits by
// one of the rules is refused without what it waits for. It is empty where no object waits so.
func (r *run) boundary(ctx context.Context, level, next []*object, rules []string) (string, error) {
	why := ""
	for _, w := range r.plan.waits {
		if w.from.level != next[0].level || w.to.level != level[0].level || w.weak || !slices.Contains(rules, w.rule) || w.from.cluster != w.to.cluster {
			continue
		}
		refused, err := r.try(ctx, w.from, true)
		if err != nil || refused != nil {
			return "", err
		}
		why = fmt.Sprintf("%s is taken before %s (%s: %s)", w.from, w.to, w.rule, w.why)
	}
	return why, nil
}

// random applies each level in several random orders.
func (r *run) random(ctx context.Context, random *rand.Rand, orders int) error {
	for _, level := range r.plan.levels() {
		if err := r.declare(ctx, shuffled(level, random)); err != nil {
			return err
		}
		if err := r.again(ctx, level, random, orders-1); err != nil {
			return err
		}
		if err := r.finish(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// again deletes a level and applies it in a random order, several times. Its CRDs and Namespaces
// stay: API servers need long to forget these. So does what another stack applies so.
func (r *run) again(ctx context.Context, level []*object, random *rand.Rand, orders int) error {
	_, objects := split(level, func(o *object) bool { return stays(o) || r.plan.stack.repeats(o.seed) })
	if len(objects) < 2 {
		return nil // there is one order
	}
	for range orders {
		if err := r.remove(ctx, objects); err != nil {
			return err
		}
		if err := r.declare(ctx, shuffled(objects, random)); err != nil {
			return err
		}
	}
	return nil
}

// closes reports whether an object can make an API server refuse others. A LimitRange gives them what a quota asks for.
func closes(o *object) bool {
	return strings.HasPrefix(kindOf(o), "admissionregistration.k8s.io/") || kindOf(o) == "core/ResourceQuota"
}

// isToken reports whether an object is a Secret that gets the token of a ServiceAccount.
func isToken(o *object) bool {
	return kindOf(o) == "core/Secret" && o.body.Object["type"] == "kubernetes.io/service-account-token"
}

// isAddressed reports whether an object is a Service that asks for an address.
func isAddressed(o *object) bool {
	address, _, _ := unstructured.NestedString(o.body.Object, "spec", "clusterIP")
	return kindOf(o) == "core/Service" && address != "" && address != "None"
}

// stays reports whether an object is not deleted between two orders.
func stays(o *object) bool {
	return kindOf(o) == "apiextensions.k8s.io/CustomResourceDefinition" || kindOf(o) == "core/Namespace"
}

// split returns the objects that are and that are not.
func split(objects []*object, is func(*object) bool) (yes, no []*object) {
	for _, o := range objects {
		if is(o) {
			yes = append(yes, o)
		} else {
			no = append(no, o)
		}
	}
	return yes, no
}

// declare applies objects in their order, once each.
func (r *run) declare(ctx context.Context, objects []*object) error {
	for _, o := range objects {
		refused, err := r.try(ctx, o, false)
		if err != nil {
			return err
		}
		if refused != nil {
			r.rejections = append(r.rejections, *refused)
		}
	}
	return nil
}

// remove deletes objects, first those that can refuse the deletion of others.
func (r *run) remove(ctx context.Context, objects []*object) error {
	first, rest := split(objects, closes)
	for _, some := range [][]*object{first, rest} {
		for _, o := range some {
			p := r.players[o.cluster]
			i := slices.Index(p.declared, o)
			if i < 0 {
				continue
			}
			path := r.kinds[o.cluster][o.body.GroupVersionKind()].path(o.body)
			if err := r.clusters[o.cluster].call(ctx, http.MethodDelete, path, url.Values{"gracePeriodSeconds": {"0"}}, jsonType, nil, nil); err != nil {
				return fmt.Errorf("delete %s: %w", o, err)
			}
			p.declared = slices.Delete(p.declared, i, i+1)
		}
		if err := r.inForce(ctx, first); err != nil {
			return err
		}
		first = nil
	}
	return nil
}

// inForce waits until the API servers act by what was applied or deleted of the webhook
// configurations and admission policies among some objects.
func (r *run) inForce(ctx context.Context, objects []*object) error {
	changed := map[string]map[string]bool{} // by cluster, then by kind
	for _, o := range objects {
		if kind := strings.TrimSuffix(o.body.GetKind(), "Binding"); slices.Contains(gates, kind) {
			if changed[o.cluster] == nil {
				changed[o.cluster] = map[string]bool{}
			}
			changed[o.cluster][kind] = true
		}
	}
	for name, kinds := range changed {
		for kind := range kinds {
			if err := r.clusters[name].awaitInForce(ctx, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish waits until a level is ready. What was refused is applied again.
func (r *run) finish(ctx context.Context, level []*object) error {
	var waiting []unready
	for again := true; again; {
		waiting, again = nil, false
		for _, name := range r.plan.clusters() {
			more, err := r.ready(ctx, name, level)
			if err != nil {
				return fmt.Errorf("on cluster %s: %w", name, err)
			}
			waiting = append(waiting, more...)
		}
		// The caBundles are in force too, also those that a level before waited for.
		for _, p := range r.players {
			called, _ := split(p.declared, func(o *object) bool { return len(clientConfigs(o)) > 0 })
			if err := r.inForce(ctx, called); err != nil {
				return err
			}
		}
		for _, o := range level {
			if slices.Contains(r.players[o.cluster].declared, o) {
				continue
			}
			refused, err := r.try(ctx, o, false)
			if err != nil {
				return err
			}
			again = again || refused == nil
		}
	}
	for _, w := range waiting {
		if slices.Contains(level, w.object) {
			r.late = append(r.late, late{w, r.batches})
		}
	}
	r.batches++
	return nil
}

// waited returns what was not ready when its batch was all declared. What became ready with a later one was stuck: a
// tool that waits for a batch before it applies the next one waits for ever. The rest is never ready.
func (r *run) waited() (stuck, never []late) {
	for _, l := range r.late {
		if r.players[l.object.cluster].ready[l.object] {
			stuck = append(stuck, l)
		} else {
			never = append(never, l)
		}
	}
	return stuck, never
}

// stuckBatches counts the batches in which something waited for a later one.
func (r *run) stuckBatches() int {
	batches := map[int]bool{}
	stuck, _ := r.waited()
	for _, l := range stuck {
		batches[l.batch] = true
	}
	return len(batches)
}

// try applies one object, and returns the rejection where it is refused.
func (r *run) try(ctx context.Context, o *object, dryRun bool) (*rejection, error) {
	c, p := r.clusters[o.cluster], r.players[o.cluster]
	if creator := r.plan.creates[o.cluster]; creator != nil && !r.players[creator.cluster].created[creator] {
		return &rejection{o, "cluster " + o.cluster, "it has not been created"}, nil
	}
	how, known := r.kinds[o.cluster][o.body.GroupVersionKind()]
	if !known {
		return &rejection{o, "kind " + kindOf(o), "nothing serves " + o.body.GroupVersionKind().String()}, nil
	}
	var err error
	if dryRun && isAddressed(o) {
		err = c.takes(ctx, how, o.body)
	} else {
		err = c.apply(ctx, how, o.body, dryRun)
	}
	var answer *refused
	switch {
	case err == nil:
	case !errors.As(err, &answer):
		return nil, fmt.Errorf("apply %s: %w", o, err)
	case dryRun && noDryRun(answer):
		return nil, nil
	default:
		return &rejection{o, cause(o, answer), answer.message}, nil
	}
	if dryRun {
		return nil, nil
	}
	switch {
	case isToken(o):
		kept, err := c.keepsToken(ctx, how.path(o.body))
		if err != nil {
			return nil, err
		}
		if !kept {
			return &rejection{o, "lost", "the controller manager deleted it, because its ServiceAccount does not exist"}, nil
		}
	case kindOf(o) == "core/ResourceQuota":
		if err := c.enforce(ctx, o.body); err != nil {
			return nil, err
		}
	}
	p.declared = append(p.declared, o)
	return nil, r.inForce(ctx, []*object{o})
}

// ready waits until what a level declared on a cluster is ready, and lets run what can. It returns
// the workloads that cannot.
func (r *run) ready(ctx context.Context, name string, level []*object) ([]unready, error) {
	c, p := r.clusters[name], r.players[name]
	for _, o := range level {
		if o.cluster != name || !slices.Contains(p.declared, o) {
			continue
		}
		var err error
		switch kindOf(o) {
		case "apiextensions.k8s.io/CustomResourceDefinition":
			err = c.awaitCRD(ctx, o.body)
		case "networking.k8s.io/ServiceCIDR":
			err = c.awaitAddresses(ctx, o.body)
		case "core/Namespace":
			err = until(ctx, "the account default is in "+o.body.GetName(), func(ctx context.Context) error {
				return c.call(ctx, http.MethodGet, "/api/v1/namespaces/"+o.body.GetName()+"/serviceaccounts/default", nil, jsonType, nil, nil)
			})
		}
		if err != nil {
			return nil, err
		}
	}
	waiting, err := p.play(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range level {
		if o.cluster != name || !slices.Contains(p.declared, o) {
			continue
		}
		if kindOf(o) == "apiregistration.k8s.io/APIService" && p.answers(o) {
			if err := c.awaitAPIService(ctx, o.body); err != nil {
				return nil, err
			}
		}
	}
	return waiting, nil
}

// answers reports whether all that an object calls answers.
func (p *player) answers(o *object) bool {
	for _, c := range clientConfigs(o) {
		if !p.serving[c.namespace+"/"+c.name] {
			return false
		}
	}
	return true
}

// awaitAPIService waits until an aggregated API is available.
func (c *cluster) awaitAPIService(ctx context.Context, o *unstructured.Unstructured) error {
	return until(ctx, o.GetName()+" is available", func(ctx context.Context) error {
		var service unstructured.Unstructured
		if err := c.call(ctx, http.MethodGet, resource{"apiservices", false}.path(o), url.Values{}, jsonType, nil, &service.Object); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Available" && m["status"] == "True" {
				return nil
			} else if m["type"] == "Available" {
				return fmt.Errorf("it is not: %v", m["message"])
			}
		}
		return errors.New("it has no condition")
	})
}

// defined returns how kinds are reached: built-in ones, and those of the CRDs that the plan puts on
// the cluster.
func defined(c *cluster, all []*object) map[schema.GroupVersionKind]resource {
	kinds := map[schema.GroupVersionKind]resource{}
	for gvk, r := range c.builtin {
		kinds[gvk] = r
	}
	for _, o := range all {
		if kindOf(o) == "apiregistration.k8s.io/APIService" {
			aggregate(c, kinds, o, all)
		}
		if kindOf(o) != "apiextensions.k8s.io/CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.body.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.body.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(o.body.Object, "spec", "names", "plural")
		scope, _, _ := unstructured.NestedString(o.body.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedSlice(o.body.Object, "spec", "versions")
		for _, version := range versions {
			name, _, _ := unstructured.NestedString(version.(map[string]any), "name")
			kinds[schema.GroupVersionKind{Group: group, Version: name, Kind: kind}] = resource{plural, scope == "Namespaced"}
		}
	}
	return kinds
}

// aggregate adds the kinds of an aggregated API, as far as packages have objects of it.
func aggregate(c *cluster, kinds map[schema.GroupVersionKind]resource, service *object, all []*object) {
	group, _, _ := unstructured.NestedString(service.body.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(service.body.Object, "spec", "version")
	gv := schema.GroupVersion{Group: group, Version: version}
	for _, o := range all {
		gvk := o.body.GroupVersionKind()
		if _, known := kinds[gvk]; known || gvk.GroupVersion() != gv {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		kinds[gvk] = resource{plural.Resource, o.body.GetNamespace() != ""}
		c.egress.offer(gv.String(), aggregated{plural.Resource, gvk.Kind, o.body.GetNamespace() != ""})
	}
}

var (
	webhookCalled     = regexp.MustCompile(`failed calling webhook "([^"]+)"`)
	namespaceNotFound = regexp.MustCompile(`namespaces "[^"]+" not found`)
	accountNotFound   = regexp.MustCompile(`serviceaccount "?[^"]+"? not found|error looking up service account`)
)

// cause names the reason of a refusal.
func cause(o *object, r *refused) string {
	switch match := webhookCalled.FindStringSubmatch(r.message); {
	case match != nil:
		return "webhook " + match[1]
	case namespaceNotFound.MatchString(r.message):
		return "namespace"
	case accountNotFound.MatchString(r.message):
		return "account"
	case strings.Contains(r.message, "conversion webhook for"):
		return "conversion of " + kindOf(o)
	case r.code == http.StatusNotFound, r.code == http.StatusServiceUnavailable:
		return "kind " + kindOf(o)
	case strings.Contains(r.message, "AdmissionPolicy"):
		return "policy"
	case r.code == http.StatusUnprocessableEntity || r.code == http.StatusBadRequest || strings.Contains(r.message, "failed to create typed patch object"):
		return "invalid " + kindOf(o)
	}
	return fmt.Sprintf("%d %s", r.code, kindOf(o))
}

// shuffled returns objects in a random order.
func shuffled(objects []*object, random *rand.Rand) []*object {
	out := slices.Clone(objects)
	random.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out
}
