package forge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// parseWithGit reads trailers as the git that is installed does.
func parseWithGit(t *testing.T, message string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(gitcmd.Input(t, t.TempDir(), message, "interpret-trailers", "--parse", "--no-divider")) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		found[key] = strings.TrimSpace(value)
	}
	return found
}

func TestTrailersAreThoseOfGit(t *testing.T) {
	cases := map[string]struct {
		message string
		want    map[string]string
	}{
		"the last paragraph":                    {"t\n\nbody\n\nA: 1\nB-c:2\n", map[string]string{"A": "1", "B-c": "2"}},
		"the title is not a trailer":            {"A: 1\n", map[string]string{}},
		"a title of two lines is none":          {"t\nA: 1\n", map[string]string{}},
		"an earlier paragraph is none":          {"t\n\nA: 1\n\nbody\n", map[string]string{}},
		"a paragraph with text is none":         {"t\n\ntext\nA: 1\n", map[string]string{}},
		"text beside a sign-off is passed over": {"t\n\ntext\nSigned-off-by: Ann <a@b>\nA: 1\n", map[string]string{"Signed-off-by": "Ann <a@b>", "A": "1"}},
		"a value goes on where it is indented":  {"t\n\nA: 1\n  2\nB: 3\n", map[string]string{"A": "1 2", "B": "3"}},
		"a rule in the body does not cut":       {"t\n\nbody\n---\n| - |\n\nA: 1\n", map[string]string{"A": "1"}},
		"headings of the body are comments":     {"t\n\n## What\n\n- it\n\nA: 1\n# c\nB: 2\n", map[string]string{"A": "1", "B": "2"}},
		"the last of equal keys counts":         {"t\n\nA: 1\nA: 2\n", map[string]string{"A": "2"}},
		"blank lines at the end do not count":   {"t\n\nA: 1\n\n \n", map[string]string{"A": "1"}},
		"an empty message has none":             {"", map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, forge.Trailers(tc.message)); diff != "" {
				t.Errorf("ours (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, parseWithGit(t, tc.message)); diff != "" {
				t.Errorf("git's (-want +got):\n%s", diff)
			}
		})
	}
}

// pieces are lines that git's rules distinguish.
var pieces = []string{"", "", "text", "A: 1", "B-2 : x", " more", "# note", "Signed-off-by: Ann", "(cherry picked from commit 1)", "a b: c", "- x: y", "C:"}

func TestTrailersOfAnyMessageAreThoseOfGit(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for range 150 {
		lines := []string{"title"}
		for range random.IntN(9) {
			lines = append(lines, pieces[random.IntN(len(pieces))])
		}
		message := strings.Join(lines, "\n") + "\n"
		if diff := cmp.Diff(parseWithGit(t, message), forge.Trailers(message)); diff != "" {
			t.Errorf("%q (-git +ours):\n%s", message, diff)
		}
	}
}

func TestAddedTrailersAreFound(t *testing.T) {
	added := []forge.Trailer{{Key: forge.TrailerTier, Value: "a/c/tier-00"}, {Key: forge.TrailerDigest, Value: "sha256:1\n2"}}
	for _, message := range []string{
		"title", "title\n\nbody\n", "title\n\nbody\n\nA: 1\n", "A: title", "title\n\nA: 1\n\n# end\n", "title\n\ntext\nSigned-off-by: Ann\n",
	} {
		got := forge.AddTrailers(message, added)
		for reader, trailers := range map[string]map[string]string{"ours": forge.Trailers(got), "git": parseWithGit(t, got)} {
			if trailers[forge.TrailerTier] != "a/c/tier-00" || trailers[forge.TrailerDigest] != "sha256:1 2" {
				t.Errorf("%q: %s finds %v", got, reader, trailers)
			}
		}
	}
}

func TestTrailersJoinThoseThatAreThere(t *testing.T) {
	got := forge.AddTrailers("title\n\nbody\n\nA: 1\n", []forge.Trailer{{Key: "B", Value: "2"}})
	if want := "title\n\nbody\n\nA: 1\nB: 2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func ExampleAddTrailers() {
	fmt.Print(forge.AddTrailers("Plant a on c, tier 00", []forge.Trailer{{Key: forge.TrailerSeed, Value: "a"}}))
	// Output:
	// Plant a on c, tier 00
	//
	// Furrow-Seed: a
}
