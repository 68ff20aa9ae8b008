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

// byFlux reports whether kustomize-controller made the request, by its user agent: clusters that seeds create have a
// single user.
func byFlux(e servers.AuditEvent) bool {
	return strings.HasPrefix(e.UserAgent, "kustomize-controller/")
}

// isApply reports whether Flux applies, or tries to apply, what is in Git. When it changes its own Kustomizations, it uses
// another field manager, gotk-kustomize-controller, or writes their status.
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

// target is an object as audit logs name it; the namespace is empty for cluster-scoped objects.
type target struct{ group, resource, namespace, name string }

// targetOf converts an object's id; the resource is the plural of its kind.
func targetOf(id string) target {
	group, kind, namespace, name := splitID(id)
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Kind: kind})
	return target{group, plural.Resource, namespace, name}
}

// is reports whether an event is about the target.
func (o target) is(e servers.AuditEvent) bool {
	about := e.ObjectRef
	// Audit logs put a Namespace into itself.
	return about.APIGroup == o.group && about.Resource == o.resource && about.Name == o.name && (o.namespace == "" || about.Namespace == o.namespace)
}

// first returns the time of Flux's first matching request after since; ok is false if there is none.
func first(events []servers.AuditEvent, since time.Time, is func(servers.AuditEvent) bool) (at time.Time, ok bool) {
	for _, e := range events {
		if byFlux(e) && e.Received.After(since) && is(e) && (!ok || e.Received.Before(at)) {
			at, ok = e.Received, true
		}
	}
	return at, ok
}

// describe formats a request and its response.
func describe(cluster string, e servers.AuditEvent) string {
	return fmt.Sprintf("cluster %s: %s %s by %s: %d %s %s", cluster, e.Verb, e.RequestURI, e.UserAgent, e.ResponseStatus.Code, e.ResponseStatus.Reason, e.ResponseStatus.Message)
}

// clusters returns all clusters of the story by name, including stopped ones.
func (s *story) clusters() map[string]*servers.Cluster {
	clusters := map[string]*servers.Cluster{}
	if s.provider != nil {
		clusters = s.provider.all()
	}
	clusters["mgmt"] = s.world.mgmt
	return clusters
}

// shares reports whether other stories use a cluster too.
func (s *story) shares(cluster *servers.Cluster) bool {
	return cluster == s.world.mgmt || slices.Contains(shared.world.sites, cluster)
}

// offences returns all rule violations that API servers and Flux have logged so far: refused applies and dry runs, changes
// by Flux before the cluster was reported as initialized, and changes by furrow itself, except those that the controller's
// roles allow.
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

// refusals returns what Flux could not apply because of the cluster's state. Flux refuses a missing kind in its own
// process, so no audit log has such a request.
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
	// missing is Flux's message about something that must exist first.
	missing = regexp.MustCompile(`no matches for kind "|namespaces "[^"]+" not found|the server could not find the requested resource`)
	// answered is Flux's message if an API server has answered a dry run with an error; cannot are the reasons of a server
	// that is not ready to answer.
	answered = regexp.MustCompile(`dry-run failed \((\w+)\)`)
	cannot   = []string{"InternalError", "ServerTimeout", "ServiceUnavailable", "Timeout", "TooManyRequests"}
)

// isRefusal reports whether a failure comes from the applied objects, not from an unreachable API server.
func isRefusal(failure string) bool {
	if why := answered.FindStringSubmatch(failure); why != nil && !slices.Contains(cannot, why[1]) {
		return true
	}
	return missing.MatchString(failure)
}

// concerns reports whether an event on a shared cluster is about an object of the story. Cluster-scoped objects have the
// story's namespace in their names, as gadgets.story-crash.example.com.
func (s *story) concerns(e servers.AuditEvent) bool {
	if e.ObjectRef.Namespace != "" {
		return s.owns(e.ObjectRef.Namespace)
	}
	return slices.ContainsFunc(strings.Split(e.ObjectRef.Name, "."), s.owns)
}

func TestRefusalsAreDistinguishedFromUnreachableServers(t *testing.T) {
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
