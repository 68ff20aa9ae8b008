package e2e

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/test/servers"
)

// byFlux says that kustomize-controller asked. On the clusters that seeds create it comes with their only user.
func byFlux(e servers.AuditEvent) bool {
	return strings.HasPrefix(e.UserAgent, "kustomize-controller/")
}

// isApply says that Flux applies, or tries to, what lies in Git: what it changes of its own Kustomizations has another
// field manager, gotk-kustomize-controller, or is their status.
func isApply(e servers.AuditEvent) bool {
	if !byFlux(e) || e.ObjectRef.Subresource != "" {
		return false
	}
	at, err := url.Parse(e.RequestURI)
	if err != nil {
		return false
	}
	switch e.Verb {
	case "create", "update", "patch":
		return at.Query().Get("fieldManager") == "kustomize-controller"
	}
	return false
}

// target is an object as audit logs name it; one that is in no namespace has none here.
type target struct{ group, resource, namespace, name string }

// targetOf is the target of an object's id, of whose kind the resource is the plural.
func targetOf(id string) target {
	group, kind, namespace, name := splitID(id)
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Kind: kind})
	return target{group, plural.Resource, namespace, name}
}

// is says that an event is about the target.
func (o target) is(e servers.AuditEvent) bool {
	about := e.ObjectRef
	// A Namespace is said to be in itself.
	return about.APIGroup == o.group && about.Resource == o.resource && about.Name == o.name && (o.namespace == "" || about.Namespace == o.namespace)
}

// first is when Flux asked for something first since a time; ok is false when it never did.
func first(events []servers.AuditEvent, since time.Time, is func(servers.AuditEvent) bool) (at time.Time, ok bool) {
	for _, e := range events {
		if byFlux(e) && e.Received.After(since) && is(e) && (!ok || e.Received.Before(at)) {
			at, ok = e.Received, true
		}
	}
	return at, ok
}

// describe says what was asked for, and how it was answered.
func describe(cluster string, e servers.AuditEvent) string {
	return fmt.Sprintf("cluster %s: %s %s by %s: %d %s %s", cluster, e.Verb, e.RequestURI, e.UserAgent, e.ResponseStatus.Code, e.ResponseStatus.Reason, e.ResponseStatus.Message)
}

// clusters are those of the story that run or have run, by name.
func (s *story) clusters() map[string]*servers.Cluster {
	clusters := map[string]*servers.Cluster{}
	if s.provider != nil {
		clusters = s.provider.all()
	}
	clusters["mgmt"] = s.world.mgmt
	return clusters
}

// shares says that other stories use a cluster too.
func (s *story) shares(cluster *servers.Cluster) bool {
	return cluster == s.world.mgmt || slices.Contains(shared.world.sites, cluster)
}

// offences are what goes against the law so far, by what API servers and Flux have logged: an apply or dry run of anything
// that was refused, whatever for and by whom, a change that Flux asked for before the cluster was told initialised, and a
// change of any cluster by furrow itself, but for what its controller's roles let it change on its own.
func (s *story) offences() ([]string, error) {
	var found []string
	var errs []error
	for name, cluster := range s.clusters() {
		events, err := cluster.AuditEvents()
		errs = append(errs, err)
		for _, e := range events {
			refused := isApply(e) && e.Refused() && (!s.shares(cluster) || s.concerns(e))
			tooSoon := s.provider != nil && s.provider.tooSoon(name, e)
			if refused || tooSoon || strings.HasPrefix(e.UserAgent, "furrow") && !isController(e) {
				found = append(found, describe(name, e))
			}
		}
		failures, err := cluster.FluxFailures()
		errs = append(errs, err)
		found = append(found, s.refusals(name, failures)...)
	}
	if s.controller != nil {
		trespasses, err := s.trespasses()
		found, errs = append(found, trespasses...), append(errs, err)
	}
	return found, errors.Join(errs...)
}

// refusals are what Flux could not apply because of what is on a cluster, or is missing there. A kind that is not there
// is refused in Flux's own process, and no API server ever hears of it.
func (s *story) refusals(cluster string, failures []servers.FluxFailure) (found []string) {
	for _, failure := range failures {
		of := failure.Kustomization
		if isRefusal(failure.Error) && (cluster != "mgmt" || s.owns(of.Namespace)) {
			found = append(found, fmt.Sprintf("cluster %s: Flux says of Kustomization %s/%s: %s", cluster, of.Namespace, of.Name, failure.Error))
		}
	}
	return found
}

var (
	// missing is how Flux says that something has to be there first.
	missing = regexp.MustCompile(`no matches for kind "|namespaces "[^"]+" not found|the server could not find the requested resource`)
	// answered is how it says that an API server has answered a dry run, and why with an error; cannot are the reasons by
	// which one says that it cannot answer now.
	answered = regexp.MustCompile(`dry-run failed \((\w+)\)`)
	cannot   = []string{"InternalError", "ServerTimeout", "ServiceUnavailable", "Timeout", "TooManyRequests"}
)

// isRefusal says that a failure is one of what there was to apply, and not of an API server that is away.
func isRefusal(failure string) bool {
	if why := answered.FindStringSubmatch(failure); why != nil && !slices.Contains(cannot, why[1]) {
		return true
	}
	return missing.MatchString(failure)
}

// concerns says that an event on a cluster that stories share is about something of the story. What is in no namespace has the
// story's in its name, as gadgets.story-crash.example.com.
func (s *story) concerns(e servers.AuditEvent) bool {
	if e.ObjectRef.Namespace != "" {
		return s.owns(e.ObjectRef.Namespace)
	}
	return slices.ContainsFunc(strings.Split(e.ObjectRef.Name, "."), s.owns)
}

func TestRefusalsAreToldFromServersThatAreAway(t *testing.T) {
	for failure, want := range map[string]bool{
		`Nope/default/n dry-run failed: no matches for kind "Nope" in version "nope.example/v1"`:                                                   true,
		`ConfigMap/nonesuch/n not found: namespaces "nonesuch" not found`:                                                                          true,
		`Slice/core/gold not found: the server could not find the requested resource`:                                                              true,
		`Deployment/core/upf dry-run failed (Invalid): Deployment.apps "upf" is invalid`:                                                           true,
		`Deployment/core/upf dry-run failed: failed to get server groups: Get "https://127.0.0.1:2/api": dial tcp 127.0.0.1:2: connection refused`: false,
		`Deployment/core/upf dry-run failed (ServiceUnavailable): the server is currently unable to handle the request`:                            false,
		`kustomization path not found: stat /tmp/planted: no such file or directory`:                                                               false,
	} {
		if got := isRefusal(failure); got != want {
			t.Errorf("isRefusal(%s) = %t", failure, got)
		}
	}
}
