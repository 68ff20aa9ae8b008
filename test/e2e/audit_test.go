package e2e

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

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

// describe says what was asked for, and how it was answered.
func describe(cluster string, e servers.AuditEvent) string {
	return fmt.Sprintf("cluster %s: %s %s by %s: %d %s %s", cluster, e.Verb, e.RequestURI, e.UserAgent, e.ResponseStatus.Code, e.ResponseStatus.Reason, e.ResponseStatus.Message)
}

// refusedChanges are what goes against the law so far: an apply or dry run of anything that was refused, whatever for,
// and a change of any cluster by furrow itself, but for what its controller's roles let it change on its own.
func (s *story) refusedChanges() ([]string, error) {
	clusters := map[string]*servers.Cluster{"mgmt": s.world.mgmt}
	if s.provider != nil {
		for name, cluster := range s.provider.all() {
			clusters[name] = cluster
		}
	}
	var found []string
	var errs []error
	for name, cluster := range clusters {
		events, err := cluster.AuditEvents()
		errs = append(errs, err)
		for _, e := range events {
			refused := isApply(e) && e.Refused() && (name != "mgmt" || s.concerns(e))
			if refused || strings.HasPrefix(e.UserAgent, "furrow") && !isController(e) {
				found = append(found, describe(name, e))
			}
		}
	}
	if s.controller != nil {
		trespasses, err := s.trespasses()
		found, errs = append(found, trespasses...), append(errs, err)
	}
	return found, errors.Join(errs...)
}

// concerns says that an event on the management cluster is about something of the story.
func (s *story) concerns(e servers.AuditEvent) bool {
	return s.owns(e.ObjectRef.Namespace) || e.ObjectRef.Namespace == "" && s.owns(e.ObjectRef.Name)
}
