package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/readiness"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// reconcilerNamespace is that of the kubeconfig Secret for a hub's cluster, the root's otherwise.
func reconcilerNamespace(c catalog.Cluster) string {
	if c.Hub != "" {
		return c.KubeConfig.Namespace
	}
	return c.Source.Namespace
}

// reconciler is what the reconciler object of a tier is rendered from.
type reconciler struct {
	cluster string
	ordinal int
	text    template.Text
	vars    template.Reconciler
}

// addReconciler says what the tier's reconciler object is rendered from.
func (a *assembly) addReconciler(t *Tier, tv tierVertices) {
	cl := a.inventory.Clusters[t.Cluster]
	name := layout.Tier{Seed: a.seed.Name, Cluster: t.Cluster, Ordinal: t.Ordinal}
	r := reconciler{cluster: t.Cluster, ordinal: t.Ordinal, text: t.Delivery().BuiltIn()}
	r.vars = template.Reconciler{
		Name: t.Object.Name, Namespace: t.Object.Namespace, Seed: a.seed.Name, Cluster: t.Cluster, Tier: name.Number(),
		Path: "./" + t.Dir(), Source: cl.Source, KubeConfigSecret: cl.KubeConfig.Name, KubeConfigKey: cl.KubeConfigKey(),
		DependsOn: a.dependsOn(t), Decryption: cl.Decryption,
	}
	if a.moving[t.Cluster].stage == StageMove {
		r.vars.DependsOn = nil // all of it is live already, and goes on moving while something is not healthy
	}
	if tv.health == nil { // no tier of a class of several clusters creates anything
		h := a.healthOf(tv, len(t.Creates) > 0)
		tv.health = &h
	}
	h := tv.health
	r.vars.Wait, r.vars.HealthChecks, r.vars.HealthCheckExprs = h.wait, h.checks, h.exprs
	if cl.ReconcilerTemplate != "" { // the one of Furrow does not use these
		doc := "Template/" + cl.ReconcilerTemplate
		r.text = template.Text{Name: doc, Source: a.in.Catalog.Positions[doc].String(), Text: a.in.Catalog.Templates[cl.ReconcilerTemplate].Spec.Text}
		r.vars.Labels, r.vars.ClusterType = cl.Labels, cl.Type
	}
	a.reconcilers = append(a.reconcilers, r)
}

// render adds the reconciler objects to the plan. Texts are parsed once for all seeds, and the
// renderings of a Template of the catalog count towards one total, so a costly one cannot
// multiply with the number of clusters.
func (a *assembly) render() error {
	for _, r := range a.reconcilers {
		if _, own := a.in.Catalog.Positions[r.text.Name]; own {
			if a.rendered[r.text.Name] == nil {
				a.rendered[r.text.Name] = &template.Total{}
			}
			r.text.Total = a.rendered[r.text.Name]
		}
		if a.parsed[r.text.Text] == nil {
			a.parsed[r.text.Text] = &template.Parsed{}
		}
		r.text.Parsed = a.parsed[r.text.Text]
		t, _ := a.plan.Find(r.cluster, r.ordinal)
		rendered, err := t.Delivery().Render(r.text, r.vars)
		if err != nil {
			return fmt.Errorf("seed %q: %w. Correct the template", a.seed.Name, manifest.About(manifest.Problem{Seed: a.seed.Name, Cluster: r.cluster}, err))
		}
		t.Object.Rendered = rendered.Digest
		t.setHash(ModeFile, githash.Blob(rendered.Bytes))
		if err := a.put(t.Repo, t.ReconcilerFile(), File{Data: rendered.Bytes, Hash: t.ReconcilerHash()}); err != nil {
			return err
		}
	}
	return nil
}

// keepReconciler takes over the reconciler object of a tier on a cluster that is no longer known.
func (a *assembly) keepReconciler(t *Tier, tv tierVertices) error {
	first, _ := a.planted.get(a.vertex(tv, tv.vertices[0]))
	was := first.tier
	t.setHash(ModeFile, cmp.Or(was.ReconcilerHash(), a.previous.Base[t.Repo][t.ReconcilerFile()]))
	t.Object = was.Object
	return a.put(t.Repo, t.ReconcilerFile(), File{Hash: t.ReconcilerHash()})
}

// dependsOn returns the prerequisites that the same cluster reconciles, so a cluster rebuilt
// from Git alone comes up in order.
func (a *assembly) dependsOn(t *Tier) []template.ObjectName {
	var out []template.ObjectName
	for _, p := range t.Prerequisites {
		name := layout.Tier{Seed: cmp.Or(p.Seed, a.seed.Name), Cluster: p.Cluster, Ordinal: p.Ordinal}
		on, namespace := a.reconciledOn(name)
		if on != t.Object.Cluster {
			continue
		}
		ref := template.ObjectName{Name: name.ReconcilerName()}
		if namespace != t.Object.Namespace {
			ref.Namespace = namespace
		}
		out = append(out, ref)
	}
	return out
}

// reconciledOn returns where the reconciler object of a tier is: of a cluster whose document cannot
// be used, by the tier's last plan.
func (c *computation) reconciledOn(tier layout.Tier) (cluster, namespace string) {
	if cl, known := c.inventory.Clusters[tier.Cluster]; known {
		return cl.ReconciledOn(), reconcilerNamespace(cl)
	}
	if last := c.in.Previous[tier.Seed]; last != nil && last.Plan != nil {
		if t, ok := last.Plan.Find(tier.Cluster, tier.Ordinal); ok {
			return t.Object.Cluster, t.Object.Namespace
		}
	}
	return "", ""
}

// tierHealth is what must be healthy in a tier.
type tierHealth struct {
	// wait reports whether all objects must be, and nothing else; checks are not used then.
	wait   bool
	checks []template.HealthCheck
	exprs  []template.HealthCheckExpr
}

// healthOf returns what must be healthy in a tier, and what must be true of that. Usually it is all
// objects. In a tier with a creator only creators count, and what others wait for: everything else
// may need what the seed adds only later. Flux checks what it applied, or else a list and nothing
// more. So where something else must exist as well, or an object does not count, all others are listed.
func (a *assembly) healthOf(tv tierVertices, creates bool) tierHealth {
	more := a.allBeside(tv)
	h := tierHealth{wait: !creates && len(more) == 0 && !a.ignoresAny(tv), checks: more}
	byKind := map[string]template.HealthCheckExpr{}
	needed := map[string][]string{}
	claims, claimed := false, false
	for _, i := range tv.vertices {
		id := a.graph.Object(i)
		content := a.contents.On(id, tv.cluster)
		if content != nil && readiness.Ignored(content.Object) {
			continue
		}
		if id.GroupKind() == claimKind {
			claims, claimed = true, claimed || a.waited[i]
		}
		counts := catalog.IsCreator(id.GroupKind()) || a.waited[i]
		if content == nil || !counts && (creates || isSkipped(content.Object)) {
			continue
		}
		check, ready := a.checkOf(i, content.Object)
		if !h.wait {
			h.checks = append(h.checks, check)
		}
		key := id.GroupKind().String() // Flux takes one expression for a kind, whatever its versions
		expr := byKind[key]
		expr.APIVersion, expr.Kind = check.APIVersion, id.Kind
		if rule, judged := a.readinessOf(a.seed, i, tv.cluster); judged {
			ready, expr.InProgress, expr.Failed = append(ready, rule.Current), rule.InProgress, rule.Failed
		}
		byKind[key], needed[key] = expr, append(needed[key], ready...)
	}
	if claims && !claimed {
		key := claimKind.String()
		byKind[key], needed[key] = template.HealthCheckExpr{APIVersion: "v1", Kind: claimKind.Kind}, []string{claimUsable}
	}
	for _, key := range sortedKeys(byKind) {
		expr := byKind[key]
		if expr.Current = allOf(needed[key]); expr.Current != "" {
			h.exprs = append(h.exprs, expr)
		}
	}
	return h
}

// checkOf returns the check of an object, and what must be true of it by who waits for it. Of a creator that also
// counts where nothing waits for it yet.
func (a *assembly) checkOf(i int32, o *manifest.Object) (check template.HealthCheck, ready []string) {
	check = template.HealthCheck{APIVersion: o.APIVersion(), Kind: o.ID.Kind, Name: o.ID.Name, Namespace: o.ID.Namespace}
	ready = slices.Clone(a.ready[i])
	if kind, creator := catalog.Creator(o.ID.GroupKind()); creator && kind.Current != "" {
		check.APIVersion, ready = kind.Group+"/"+kind.Version, append(ready, kind.Current)
	}
	return check, ready
}

// ignoresAny reports whether the health of any object of a tier does not count.
func (a *assembly) ignoresAny(tv tierVertices) bool {
	return slices.ContainsFunc(tv.vertices, func(i int32) bool {
		content := a.contents.On(a.graph.Object(i), tv.cluster)
		return content != nil && readiness.Ignored(content.Object)
	})
}

// allBeside lists what must exist beside the objects of a tier.
func (a *assembly) allBeside(tv tierVertices) []template.HealthCheck {
	var checks []template.HealthCheck
	if len(a.beside) == 0 {
		return nil
	}
	for _, i := range tv.vertices {
		for _, id := range a.beside[i] {
			checks = append(checks, template.HealthCheck{APIVersion: "v1", Kind: id.Kind, Name: id.Name, Namespace: id.Namespace})
		}
	}
	return checks
}

// isSkipped reports whether an object asks Flux not to apply it, so it need not exist.
func isSkipped(o *manifest.Object) bool {
	return o.Annotation("kustomize.toolkit.fluxcd.io/reconcile") == "disabled" || o.Annotation("kustomize.toolkit.fluxcd.io/ssa") == "Ignore"
}

var claimKind = manifest.GroupKind{Kind: "PersistentVolumeClaim"}

// claimUsable is also true of a claim that waits for its first Pod, as with most storage of clouds,
// or for what provisions its volume: a later tier may bring either. A Pod that uses the claim is not
// ready before it is bound. Where something was declared to wait for a claim, it is not used.
const claimUsable = "status.phase in ['Bound', 'Pending']"

// allOf returns one expression of several, as Flux has one for all objects of a kind.
func allOf(exprs []string) string {
	slices.Sort(exprs)
	exprs = slices.DeleteFunc(slices.Compact(exprs), func(e string) bool { return e == "" })
	if len(exprs) > 1 {
		return "(" + strings.Join(exprs, ") && (") + ")"
	}
	return strings.Join(exprs, "")
}
