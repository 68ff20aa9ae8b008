package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestAppliedIsNotHealthy(t *testing.T) {
	tests := map[string]struct {
		seen health.Reconciler
		want bool
	}{
		"what is healthy is applied":                            {ready(), true},
		"a health check that failed comes after applying":       {failing("HealthCheckFailed", "failed early due to stalled resources: [Widget/default/w1 status: 'Failed']"), true},
		"so does one that ran out of time":                      {failing("HealthCheckFailed", "timeout waiting for: [Deployment/default/a status: 'InProgress']"), true},
		"one of an earlier spec says nothing":                   {ready(at(before, merged), saying("False", "HealthCheckFailed", "timeout waiting for: []"), generations(2, 1, 1)), false},
		"one at an earlier revision says nothing":               {ready(at(before, before), saying("False", "HealthCheckFailed", "timeout waiting for: []")), false},
		"what was not taken is not applied":                     {failing("ReconciliationFailed", "namespaces \"nonesuch\" not found"), false},
		"what could not be deleted is not applied as a whole":   {failing("PruneFailed", "denied"), false},
		"while it is under way, nobody knows":                   {ready(reconciling, at(before, merged)), false},
		"nothing is applied by a reconciler that is not there":  {health.Reconciler{Known: true}, false},
		"nothing is known of a cluster that could not be asked": {health.Reconciler{}, false},
	}
	for sentence, c := range tests {
		t.Run(sentence, func(t *testing.T) {
			if got := health.Applied(kind.Judge(c.seen, want), c.seen, want); got != c.want {
				t.Errorf("applied: %t", got)
			}
		})
	}
}
