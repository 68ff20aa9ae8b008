package pull

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
)

func TestChecksPassOnlyTogether(t *testing.T) {
	gate, gateShut := Check{gateContext, CheckPassed}, Check{gateContext, CheckFailed}
	for name, c := range map[string]struct {
		checks []Check
		want   forge.Checks
	}{
		"nothing has begun":                        {nil, forge.Checks{State: forge.ChecksPending, Why: "no check has begun"}},
		"only Furrow's gate has":                   {[]Check{gate}, forge.Checks{State: forge.ChecksPending, Why: "no check has begun"}},
		"all have passed":                          {[]Check{gate, {"ci", CheckPassed}, {"lint", CheckPassed}}, forge.Checks{State: forge.ChecksPassed}},
		"Furrow's gate does not count":             {[]Check{gateShut, {"ci", CheckPassed}}, forge.Checks{State: forge.ChecksPassed}},
		"one has not ended":                        {[]Check{{"ci", CheckPassed}, {"lint", ""}}, forge.Checks{State: forge.ChecksPending, Why: "lint not done"}},
		"one has failed, while another one goes":   {[]Check{{"ci", CheckFailed}, {"lint", ""}}, forge.Checks{State: forge.ChecksFailed, Why: "ci failed"}},
		"many have failed: some are named, sorted": {[]Check{{"e", CheckFailed}, {"d", CheckFailed}, {"c", CheckFailed}, {"b", CheckFailed}, {"a", CheckFailed}}, forge.Checks{State: forge.ChecksFailed, Why: "a, b, c and 2 more failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judgeChecks(c.checks); got != c.want {
				t.Errorf("they are %+v, want %+v", got, c.want)
			}
		})
	}
}
