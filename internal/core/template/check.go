package template

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// CheckProposal renders a template of proposals with samples of its variables: one in which everything is, one in
// which only what is always there is, and one of several tiers. The error that it returns is an *Error.
func CheckProposal(t Text) error {
	for _, vars := range []Proposal{fullProposal, bareProposal, groupProposal} {
		if _, _, err := RenderProposal(t, vars); err != nil {
			return err
		}
	}
	return nil
}

// CheckReconciler renders a template of reconciler objects with samples of its variables, as CheckProposal does.
// Labels are those that clusters have.
func CheckReconciler(t Text, labels map[string]string, check ReconcilerCheck) error {
	for _, vars := range []Reconciler{fullReconciler, bareReconciler} {
		vars.Labels = labels
		_, err := RenderReconciler(t, vars, check)
		if err != nil && strings.Contains(err.Error(), "map has no entry for key") {
			// The clusters that it is for may have the label; only its name is known.
			err = checkWithoutLabels(t, vars)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckLabels renders the template of the labels of proposals with samples, as CheckProposal does.
func CheckLabels(t Text) error {
	for _, vars := range []Proposal{fullProposal, bareProposal, groupProposal} {
		if _, err := RenderLabels(t, vars); err != nil {
			return err
		}
	}
	return nil
}

// checkWithoutLabels renders with a missing label as an empty one, instead of failing.
func checkWithoutLabels(t Text, vars Reconciler) error {
	b := newBudget(vars)
	b.missing = "missingkey=zero"
	if _, err := render(t, vars, b); err != nil {
		return &Error{t, err}
	}
	return nil
}

var (
	bareProposal = Proposal{
		Verb: "Plant", Seed: "web", Cluster: "edge", Tier: "00", TierCount: 1, Clusters: []string{"edge"}, ReconciledBy: "Flux on edge",
		HowToReject: "Close this pull request.", From: "seeds/web.yaml", Revision: "main@sha1:0123", Branch: "furrow/main/tier/web/edge/00", Name: "web/edge/00",
	}
	fullProposal = Proposal{
		Verb: "Remove", Seed: "web", Cluster: "edge", Tier: "01", TierCount: 2, Clusters: []string{"edge"}, Removal: true, SeedGone: true, Abandoned: true, ReconciledBy: "Flux on hub", WhyLeaves: []string{"no document declares cluster edge any more"},
		Commit:  Commit{ID: "0123456789", Subject: "`remove web`", Author: "`Ada`", URL: "https://git.example.com/fleet/commit/0123"},
		Retried: Request{By: "`Grace`", At: "2026-11-23 09:00 UTC", Why: "`it is back`"},
		Changes: []Changes{{Tiers: []string{"edge tier 01"}, Summary: "1 changed, 1 removed", More: 1, Objects: []Change{
			{What: "removed", Object: "`core/Namespace/b`", Count: 1, Destroys: "everything in the namespace"},
			{What: "changed", Object: "`core/ConfigMap/default/a`", Count: 1, Fields: []Field{{Path: "`data.a`", Was: "`1`", Is: "`2`"}}, More: 1},
		}}},
		MoreChanges: 1, Destroys: []string{"`core/Namespace/b`, and everything in the namespace"},
		WillFail: []string{"`batch/Job/default/a`: `spec.template`"}, Recreates: []string{"`batch/Job/default/b`: `spec.template`"},
		Stays:   []string{"`core/ConfigMap/default/c`"},
		Differs: []string{"`core/ConfigMap/default/a` differs on west"}, Leaving: []string{"`core/ConfigMap/default/b`"},
		Deletes: []string{"`mine.yaml`"}, Replaces: []string{"`yours.yaml`"}, Shut: "waits for edge tier 00",
		Before: []Step{{Tier: "edge tier 00", Why: "`it comes first`", State: "Gone"}}, Next: []Step{{Tier: "edge tier 02", Why: "`it comes next`"}}, MoreBefore: 1, MoreNext: 1, Unchanged: 2,
		Rollout: Rollout{Clusters: 3, Done: 1, Open: 1, Failed: []string{"west"}, FailedCount: 1, Waves: []Wave{{Progress: "wave canary: 1 of 1 cluster done", State: "Soaking", Why: "`watched until noon`"}}}, Graph: "graph LR\n  t0\n", Page: true,
		HowToReject: "Close this pull request.", From: "seeds/web.yaml", Revision: "main@sha1:0123", Branch: "furrow/main/tier/web/edge/01", Name: "web/edge/01",
	}
	groupProposal = Proposal{
		Verb: "Plant", Seed: "web", Cluster: "east, west", Tier: "00", TierCount: 2, Clusters: []string{"east", "west"}, ReconciledBy: "Flux",
		HowToReject: "Close this pull request.", From: "seeds/web.yaml", Revision: "main@sha1:0123", Branch: "furrow/main/group/web/level-00", Name: "web/level-00",
		Members: []Member{
			{Verb: "Plant", Cluster: "east", Tier: "00", ReconciledBy: "Flux on east", Summary: "1 added"}, {Verb: "Plant", Cluster: "west", Tier: "00", ReconciledBy: "Flux on west", Summary: "1 added"},
		},
		Changes: []Changes{{Tiers: []string{"east tier 00", "west tier 00"}, Summary: "1 added", Objects: []Change{{What: "added", Object: "`core/ConfigMap/default/a`", Count: 1}}}}, MoreChanges: 1, MoreBefore: 1,
	}
	bareReconciler = Reconciler{
		Name: "web.edge.00", Namespace: "flux-system", Seed: "web", Cluster: "edge", Tier: "00", Path: "./planted/edge/web/tier-00",
		Source: v1alpha1.ObjectReference{Name: "flux-system", Namespace: "flux-system"}, Wait: true,
	}
	fullReconciler = Reconciler{
		Name: "web.edge.01", Namespace: "edge", Seed: "web", Cluster: "edge", Tier: "01", ClusterType: "small", Path: "./planted/edge/web/tier-01",
		Source:           v1alpha1.ObjectReference{Name: "flux-system", Namespace: "flux-system"},
		KubeConfigSecret: "edge-kubeconfig", KubeConfigKey: "value", DependsOn: []ObjectName{{Name: "web.edge.00", Namespace: "flux-system"}},
		HealthChecks:     []HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", Namespace: "default"}},
		HealthCheckExprs: []HealthCheckExpr{{APIVersion: "v1", Kind: "ConfigMap", Current: "true"}},
		Decryption:       &v1alpha1.Decryption{Provider: "sops", SecretName: "sops"},
	}
)

// executing and noField are how text/template words where it failed, and what a name is missing
// from.
var (
	executing = regexp.MustCompile(`(?s)executing ".*?" at (<.*>): (?:error calling (\w+: ))?(.*)$`)
	noField   = regexp.MustCompile(`(?s)^can't evaluate field (.*) in type (.*)$`)
)

// inPlainWords returns what text/template found without words of Go.
func inPlainWords(message string) string {
	at := executing.FindStringSubmatchIndex(message)
	if at == nil {
		return message
	}
	found := executing.FindStringSubmatch(message)
	what := found[3]
	if field := noField.FindStringSubmatch(what); field != nil {
		what = "there is no field " + field[1] + " here"
		if names := fieldsOf[strings.TrimPrefix(field[2], "*")]; len(names) > 0 {
			what += "; there are " + strings.Join(names, ", ")
		}
	}
	return message[:at[0]] + "at " + found[1] + ": " + found[2] + what
}

// fieldsOf are the names in each struct that templates can read, by its type.
var fieldsOf = func() map[string][]string {
	fields := map[string][]string{}
	addFields(fields, reflect.TypeFor[Proposal]())
	addFields(fields, reflect.TypeFor[Reconciler]())
	return fields
}()

// addFields adds the fields of a struct type and of all types that it reaches, each once.
func addFields(fields map[string][]string, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		addFields(fields, t.Elem())
	case reflect.Struct:
		if fields[t.String()] != nil {
			return
		}
		for i := range t.NumField() {
			fields[t.String()] = append(fields[t.String()], t.Field(i).Name)
			addFields(fields, t.Field(i).Type)
		}
	}
}
