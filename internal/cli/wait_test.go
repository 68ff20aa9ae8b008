package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

func TestWaitEndsWhenTheStateIsReached(t *testing.T) {
	type read struct {
		st      *state.State
		current bool
		err     error
	}
	proposed, released := reportOfWeb(release.Proposed, "waits to be merged"), reportOfWeb(release.Released, "healthy")
	nothing := &state.State{}
	cases := map[string]struct {
		seed, until string
		reads       []read
		want        string
		err         string
	}{
		"it is so already":                       {"web", "Released", []read{{released, true, nil}}, "Seed web is Released.\n", ""},
		"it becomes so":                          {"web", "Released", []read{{proposed, true, nil}, {released, true, nil}}, "Seed web is Released.\n", ""},
		"the report is of an older commit":       {"web", "Released", []read{{released, false, nil}, {proposed, true, nil}, {released, true, nil}}, "Seed web is Released.\n", ""},
		"nothing was reported yet":               {"web", "Released", []read{{nil, false, controlplane.ErrNoStatus}, {released, true, nil}}, "Seed web is Released.\n", ""},
		"all seeds":                              {"", "Released", []read{{proposed, true, nil}, {released, true, nil}}, "1 seed: Released.\n", ""},
		"another state":                          {"web", "Proposed", []read{{released, true, nil}, {proposed, true, nil}}, "Seed web is Proposed.\n", ""},
		"the seed goes":                          {"web", "Gone", []read{{proposed, true, nil}, {nothing, false, nil}, {nothing, true, nil}}, "Seed web is Gone.\n", ""},
		"there is no such seed":                  {"wbe", "Released", []read{{released, true, nil}}, "", `the control plane has no seed "wbe"`},
		"the report cannot be read for good":     {"web", "Released", []read{{nil, false, errors.New("no such repository")}}, "", "no such repository"},
		"a seed that is not planned yet is late": {"wbe", "Released", []read{{released, false, nil}, {reportOfWeb(release.Released, ""), true, nil}}, "", `the control plane has no seed "wbe"`},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			var out, notes strings.Builder
			w := &waiting{seed: c.seed, until: c.until, timeout: time.Hour, interval: time.Millisecond, out: &out, notes: &notes}
			reads := c.reads
			w.read = func(context.Context) (*state.State, bool, error) {
				if len(reads) == 0 {
					t.Fatal("it waits on after the last report")
				}
				r := reads[0]
				reads = reads[1:]
				return r.st, r.current, r.err
			}
			err := w.run(t.Context())
			if out.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("it says %q and ends with %v", out.String(), err)
			}
			if early := strings.Contains(notes.String(), "Waiting up to 1h: no status was reported yet. Start 'furrow run'"); early != (sentence == "nothing was reported yet") {
				t.Errorf("before the end it says %q", notes.String())
			}
			if len(reads) > 0 {
				t.Errorf("%d reports are not read", len(reads))
			}
		})
	}
}

func TestWhatIsNotReachedInTimeHasAnExitCodeOfItsOwn(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	late := func(why string) {
		t.Helper()
		r := p.furrow("wait", "web", "--timeout", "1s")
		if r.code != exitNotReached {
			t.Errorf("it ends with %d: %s", r.code, r.all())
		}
		mustContain(t, r.stderr, "not Released after 1s: "+why)
	}
	late("no status was reported yet")
	p.pass()
	late("seed web is Proposed, 0 of 6 tiers done")
	mustContain(t, p.must("wait", "web", "--for", "Proposed"), "Seed web is Proposed.\n")
	if r := p.furrow("status", "--exit-code"); r.code != exitNotReached || !strings.Contains(r.stdout, "Seed web: Proposed") {
		t.Errorf("status ends with %d: %s", r.code, r.all())
	}
	p.plant("Seed web: Released\n")
	mustContain(t, p.must("wait"), "1 seed: Released.\n")
	p.must("status", "--exit-code")
	p.commit(map[string]string{"seeds/web.yaml": moreSeed})
	late("no pass has reported on the control plane as it is now")
	p.commit(map[string]string{"seeds/web.yaml": circleSeed})
	p.furrow("run", "--once", "--simulate")
	if r := p.furrow("status", "--exit-code"); r.code != exitProblems {
		t.Errorf("status of a stalled seed ends with %d: %s", r.code, r.all())
	}
}
