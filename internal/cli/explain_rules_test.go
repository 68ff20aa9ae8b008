package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/dependency"
)

func TestExplainPrintsTheRules(t *testing.T) {
	r := call(t.Context(), "", "explain", "--rules", "-o", "json")
	if r.code != exitOK {
		t.Fatalf("it ends with %d: %s", r.code, r.stderr)
	}
	var got ruleTable
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allRules(), got); diff != "" {
		t.Errorf("the rules differ (-want +got):\n%s", diff)
	}
	text := call(t.Context(), "", "explain", "--rules").stdout
	for _, rule := range dependency.Rules() {
		mustContain(t, text, rule.Name+": "+rule.Doc+" "+rule.Why)
	}
}

func TestExplainTakesAnObjectOrTheRules(t *testing.T) {
	for _, args := range [][]string{{"explain"}, {"explain", "--rules", "web"}} {
		if r := call(t.Context(), "", args...); r.code != exitUsage {
			t.Errorf("furrow %v ends with %d: %s", args, r.code, r.stderr)
		}
	}
}
