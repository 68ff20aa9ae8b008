package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/audit"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
)

func TestUnplanned(t *testing.T) {
	a, b := githash.Blob([]byte("a")), githash.Blob([]byte("b"))
	cases := map[string]struct {
		files map[string]layout.Hash
		plans []map[string]layout.Hash
		want  []string
	}{
		"a file that a plan has is planned":                 {map[string]layout.Hash{"x": a}, []map[string]layout.Hash{{"x": a}}, nil},
		"a file that an earlier plan had is planned":        {map[string]layout.Hash{"x": a}, []map[string]layout.Hash{{"x": b}, {"x": a}}, nil},
		"a file with another content is not":                {map[string]layout.Hash{"x": a}, []map[string]layout.Hash{{"x": b}}, []string{"x"}},
		"a file with the content of another one is not":     {map[string]layout.Hash{"x": a}, []map[string]layout.Hash{{"y": a}}, []string{"x"}},
		"without a plan nothing is planned, in their order": {map[string]layout.Hash{"y": a, "x": b}, nil, []string{"x", "y"}},
	}
	for sentence, tc := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, audit.Unplanned(tc.files, tc.plans...)); diff != "" {
				t.Errorf("it finds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatOneCommitBroughtIsOneLine(t *testing.T) {
	of := func(at, commit string) audit.Finding { return audit.Finding{Repo: "a", Path: at, Commit: commit} }
	var got []string
	for _, g := range audit.Fold([]audit.Finding{of("planted/east/web/tier-00/b.yaml", "1"), of("planted/east/web/tier-01/a.yaml", "1"), of("x", "2"), of("planted/a", "3"), of("clusters/b", "3")}) {
		got = append(got, g.Commit+" "+g.Where())
	}
	if diff := cmp.Diff([]string{"1 2 files in planted/east/web/", "2 x", "3 2 files in ./"}, got); diff != "" {
		t.Errorf("the lines differ (-want +got):\n%s", diff)
	}
}
