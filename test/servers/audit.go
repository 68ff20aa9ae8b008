package servers

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// auditPolicy logs each request for a change, dry runs too, when it is answered. Leases and events
// are noise. It takes one rule that comes first.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
%s- level: None
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [events]}
  - {group: events.k8s.io, resources: [events]}
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// auditPolicyFor returns the policy that logs, of some users, all that they ask for.
func auditPolicyFor(users []string) string {
	if len(users) == 0 {
		return fmt.Sprintf(auditPolicy, "")
	}
	return fmt.Sprintf(auditPolicy, "- {level: Metadata, users: ['"+strings.Join(users, "', '")+"']}\n")
}

// AuditEvent is an answered request, with the fields that tests use.
type AuditEvent struct {
	// Verb is create, update, patch, delete or deletecollection and, of users whose requests are all
	// logged, get, list or watch. An apply is a patch.
	Verb string `json:"verb"`
	// Received is when the API server got the request.
	Received   time.Time `json:"requestReceivedTimestamp"`
	RequestURI string    `json:"requestURI"`
	UserAgent  string    `json:"userAgent"`
	User       struct {
		// Username is the name of the program for those that StartCluster and StartFlux start, as
		// kustomize-controller.
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		// Code is the HTTP status.
		Code    int    `json:"code"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"responseStatus"`
}

// DryRun reports whether the request was for a dry run.
func (e AuditEvent) DryRun() bool {
	return strings.Contains(e.RequestURI, "dryRun=All")
}

// Refused reports whether the answer was an error.
func (e AuditEvent) Refused() bool {
	return e.ResponseStatus.Code >= 400
}

// AuditEvents reads the audit log, oldest first. A request is in it about when its answer is there,
// and a watch when it has ended.
func (c *Cluster) AuditEvents() ([]AuditEvent, error) {
	events, err := c.audited.all(c.AuditLog, func(line []byte) (event AuditEvent, keep bool, err error) {
		err = json.Unmarshal(line, &event)
		return event, true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit log of cluster %s: %w", c.Name, err)
	}
	return events, nil
}
