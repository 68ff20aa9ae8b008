package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// signingWorld is a control plane with one seed, whose GitOps repository is written to with signed
// commits: by Furrow, with its key, and by people with theirs.
type signingWorld struct {
	*signedRepo
	gitops, credentials, cache string
}

func newSigningWorld(t *testing.T, signing string) *signingWorld {
	t.Helper()
	dir := t.TempDir()
	w := &signingWorld{newSignedRepo(t, filepath.Join(dir, "control"), "furrow", "former", "ann", "eve"), filepath.Join(dir, "gitops"), filepath.Join(dir, "credentials"), filepath.Join(dir, "cache")}
	w.file("control/repo.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec:\n  url: ../gitops\n"+signing)
	w.file("control/east.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: east}\n")
	w.file("control/seeds/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n")
	w.commit("", w.verifying())
	w.file("gitops/clusters/east/README.md", "the root\n")
	gitIn(t, w.gitops, "init", "-q", "-b", "main", ".")
	gitIn(t, w.gitops, "add", "-A")
	gitIn(t, w.gitops, "commit", "-q", "-m", "the root")
	key, err := os.ReadFile(w.keys["furrow"])
	if err != nil {
		t.Fatal(err)
	}
	w.file("credentials/signing/signing.key", string(key))
	return w
}

func (w *signingWorld) file(name, text string) {
	w.t.Helper()
	at := filepath.Join(filepath.Dir(w.gitops), name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *signingWorld) open(change func(*Options)) *Session {
	w.t.Helper()
	o := Options{ControlPlane: w.dir, Cache: w.cache, Credentials: Directory(w.credentials), DeletionGuard: 100}
	if change != nil {
		change(&o)
	}
	return openAt(w.t, o)
}

func (w *signingWorld) pass(s *Session) *engine.Report {
	w.t.Helper()
	report, err := s.Engine().Pass(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// tip returns where a branch is; empty if it is not there.
func (w *signingWorld) tip(branch string) string {
	w.t.Helper()
	return gitIn(w.t, w.gitops, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}

func (w *signingWorld) signer(name string) *signature.Signer {
	w.t.Helper()
	data, err := os.ReadFile(w.keys[name])
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := signature.NewSigner(data, nil, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

const withKey = "  signing: {credentials: signing}\n"

var (
	planOfWeb  = layout.PlanBranch("main", "web")
	tierOfWeb  = layout.TierBranch("main", layout.Tier{Seed: "web", Cluster: "east"})
	retryOfWeb = layout.RetryBranch("main", "web")
)

func TestEveryCommitOfFurrowIsSignedAsGitVerifiesIt(t *testing.T) {
	w := newSigningWorld(t, withKey)
	s := w.open(nil)
	w.pass(s)
	requests, err := s.Engine().Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := requests.Retry(t.Context(), "web", "Ann", "because"); err != nil {
		t.Fatal(err)
	}
	w.file("allowed", w.public["furrow"]+"\n")
	var kinds []string
	for _, branch := range strings.Fields(gitIn(t, w.gitops, "for-each-ref", "--format=%(refname:short)", "refs/heads/furrow")) {
		gitIn(t, w.gitops, "-c", "gpg.ssh.allowedSignersFile="+filepath.Join(filepath.Dir(w.gitops), "allowed"), "verify-commit", branch)
		kinds = append(kinds, strings.Split(branch, "/")[2])
	}
	slices.Sort(kinds)
	if want := []string{"plan", "retry", "rollout", "status", "tier"}; !slices.Equal(kinds, want) {
		t.Errorf("branches of %v are signed, want %v", kinds, want)
	}
	if got := w.pass(s); len(got.Problems) > 0 {
		t.Errorf("the next pass reports %v", got.Problems)
	}
	if _, err := s.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestASecondPassWithAKeyChangesNothing(t *testing.T) {
	w := newSigningWorld(t, withKey)
	w.pass(w.open(nil))
	before := gitIn(t, w.gitops, "for-each-ref")
	w.pass(w.open(nil))
	if after := gitIn(t, w.gitops, "for-each-ref"); after != before {
		t.Errorf("a new process moves branches\n%s\n%s", before, after)
	}
}

func TestAKeyThatCannotSignStopsEverythingBeforeTheFirstPush(t *testing.T) {
	cases := map[string]struct {
		signing, key string
		want         v1alpha1.Reason
	}{
		"no set of credentials":          {"  signing: {}\n", "", v1alpha1.ReasonSigningKeyMissing},
		"a set that is not there":        {"  signing: {credentials: none}\n", "", v1alpha1.ReasonSigningKeyMissing},
		"a set without a key":            {withKey, " ", v1alpha1.ReasonSigningKeyMissing},
		"a key that is none":             {withKey, "hunter2", v1alpha1.ReasonSigningKeyUnusable},
		"a public key that is none":      {"  signing: {credentials: signing, publicKeys: [hunter2]}\n", "", v1alpha1.ReasonSigningKeyUnusable},
		"a key of a person that is none": {"  signing: {credentials: signing, requesters: [hunter2]}\n", "", v1alpha1.ReasonSigningKeyUnusable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newSigningWorld(t, c.signing)
			if c.key != "" {
				w.file("credentials/signing/signing.key", c.key)
			}
			report := w.pass(w.open(nil))
			found := slices.ContainsFunc(report.Problems, func(p manifest.Problem) bool { return p.Reason == c.want })
			if !found {
				t.Errorf("got %v, want a problem with reason %s", report.Problems, c.want)
			}
			if refs := gitIn(t, w.gitops, "for-each-ref", "refs/heads/furrow"); refs != "" {
				t.Errorf("it pushed %s", refs)
			}
			for _, p := range report.Problems {
				if strings.Contains(p.Error(), "hunter2") {
					t.Errorf("the message shows the key: %v", p)
				}
			}
		})
	}
}

// push makes a commit on a branch in the GitOps repository, by somebody, as git makes it.
func (w *signingWorld) push(branch, by, message string, parent string) {
	w.t.Helper()
	args := []string{"commit-tree", "-p", parent, "-m", message, parent + "^{tree}"}
	if by != "" {
		args = append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + w.keys[by]}, append([]string{"commit-tree", "-S"}, args[1:]...)...)
	}
	gitIn(w.t, w.gitops, "update-ref", "refs/heads/"+branch, gitIn(w.t, w.gitops, args...))
}

func TestOnlyCommitsWithFurrowsKeyCountAsItsProposals(t *testing.T) {
	cases := map[string]struct {
		by  string
		own bool
	}{
		"without a signature":      {"", false},
		"with a stranger's key":    {"eve", false},
		"with a requester's key":   {"ann", false},
		"with Furrow's key":        {"furrow", true},
		"with Furrow's former key": {"former", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newSigningWorld(t, "")
			w.file("control/repo.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec:\n  url: ../gitops\n  signing:\n    credentials: signing\n    publicKeys: ["+strconv.Quote(w.public["former"])+"]\n    requesters: ["+strconv.Quote(w.public["ann"])+"]\n")
			w.commit("", "")
			s := w.open(nil)
			w.pass(s)
			tip := w.tip(tierOfWeb)
			message := gitIn(t, w.gitops, "log", "-1", "--format=%B", tip)
			parent := gitIn(t, w.gitops, "rev-parse", tip+"^")
			tree := gitIn(t, w.gitops, "rev-parse", tip+"^{tree}")
			sign := []string{"commit-tree"}
			if c.by != "" {
				sign = []string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + w.keys[c.by], "commit-tree", "-S"}
			}
			commit := gitIn(t, w.gitops, append(append([]string{"-c", "user.name=Furrow"}, sign...), "-p", parent, "-m", message, tree)...)
			gitIn(t, w.gitops, "update-ref", "refs/heads/"+tierOfWeb, commit)
			refs, err := s.repos["gitops"].Mirror.Fetch(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			m := s.repos["gitops"].Mirror
			content, _, err := forge.NewReader(m, "main", forge.NewHistory(m)).Tip(tierOfWeb, refs[tierOfWeb])
			if err != nil || (content.Digest != "") != c.own {
				t.Errorf("it proposes %+v (%v), want its own: %t", content, err, c.own)
			}
		})
	}
}

// TestAPlanWithoutFurrowsSignatureIsCommittedAnew: a commit with another key, or none, is not Furrow's plan even
// if it holds what Furrow would write, and what it changes is not used.
func TestAPlanWithoutFurrowsSignatureIsCommittedAnew(t *testing.T) {
	const planOfWeb = "furrow/main/plan/web"
	for name, change := range map[string]func(w *signingWorld, tip string) string{
		"the same tree": func(w *signingWorld, tip string) string {
			return gitIn(t, w.gitops, "rev-parse", tip+"^{tree}")
		},
		"a tree of the base branch": func(w *signingWorld, _ string) string {
			return gitIn(t, w.gitops, "rev-parse", "main^{tree}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSigningWorld(t, "")
			w.pass(w.open(nil))
			tip := w.tip(planOfWeb)
			tree := gitIn(t, w.gitops, "rev-parse", tip+"^{tree}")
			forged := gitIn(t, w.gitops, "-c", "user.name=Furrow", "commit-tree", "-p", tip, "-m", gitIn(t, w.gitops, "log", "-1", "--format=%B", tip), change(w, tip))
			gitIn(t, w.gitops, "update-ref", "refs/heads/"+planOfWeb, forged)
			s := w.open(nil)
			w.pass(s)
			next := w.tip(planOfWeb)
			commit, err := git.ParseHash(next)
			if err != nil {
				t.Fatal(err)
			}
			who, err := s.repos["gitops"].Mirror.Identify(commit)
			if err != nil || !who.Own || next == tip {
				t.Errorf("the plan is at %s (own: %t, %v)", next, who.Own, err)
			}
			if got := gitIn(t, w.gitops, "rev-parse", next+"^{tree}:clusters"); got != gitIn(t, w.gitops, "rev-parse", tree+":clusters") {
				t.Errorf("the plan has other reconciler objects: %s", got)
			}
			if w.pass(s); w.tip(planOfWeb) != next {
				t.Error("the next pass commits the plan again")
			}
		})
	}
}

func TestRequestsCountWithAKeyThatMayAsk(t *testing.T) {
	cases := map[string]struct {
		by   string // whose key signs
		want string // who is said to ask; empty where the request does not count
	}{
		"Furrow's key, by the name that is given": {"", "Ada"},
		"the key of a person who may":             {"ann", "ann@example.com"},
		"the key of a person who may not":         {"eve", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newSigningWorld(t, "")
			w.file("control/repo.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec:\n  url: ../gitops\n  signing:\n    credentials: signing\n    requesters: ["+strconv.Quote(w.public["ann"])+"]\n")
			w.commit("", "")
			w.pass(w.open(nil))
			s := w.open(func(o *Options) {
				if c.by != "" {
					o.SignWith = w.signer(c.by)
				}
			})
			requests, err := s.Engine().Requests(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := requests.Retry(t.Context(), "web", "Ada", ""); err != nil {
				t.Fatal(err)
			}
			if got := askedBy(t.Context(), t, w, retryOfWeb); got != c.want {
				t.Errorf("%q asks, want %q", got, c.want)
			}
		})
	}
}

func TestAMarkerThatAnybodyPushesAsksForNothing(t *testing.T) {
	w := newSigningWorld(t, withKey)
	w.pass(w.open(nil))
	gitIn(t, w.gitops, "update-ref", "refs/heads/"+retryOfWeb, w.tip(planOfWeb))
	if got := askedBy(t.Context(), t, w, retryOfWeb); got != "" {
		t.Errorf("%q asks", got)
	}
	w.push(retryOfWeb, "furrow", "Request furrow/main/confirm/web\n\nFurrow-Request: furrow/main/confirm/web", w.tip(planOfWeb))
	if got := askedBy(t.Context(), t, w, retryOfWeb); got != "" {
		t.Errorf("a request for something else counts as one of %q", got)
	}
}

// Each branch that asks for nothing is named, for people to find out who pushed it.
func TestRequestsThatDoNotCountAreNamed(t *testing.T) {
	w := newSigningWorld(t, withKey)
	w.pass(w.open(nil))
	tier := layout.RetryTierBranch("main", layout.Tier{Seed: "web", Cluster: "east"})
	markers := []string{retryOfWeb, tier, layout.ConfirmBranch("main", "web"), layout.ConfirmLeavingBranch("main", "web")}
	for _, marker := range markers {
		gitIn(t, w.gitops, "update-ref", "refs/heads/"+marker, w.tip(planOfWeb))
	}
	var named []string
	for _, p := range w.pass(w.open(nil)).Problems {
		if p.Reason == v1alpha1.ReasonNotSigned {
			named = append(named, p.Path)
		}
	}
	slices.Sort(markers)
	if slices.Sort(named); !slices.Equal(named, markers) {
		t.Errorf("named are %q, want %q", named, markers)
	}
}

// askedBy returns who asks with a marker, as the next pass observes it.
func askedBy(ctx context.Context, t *testing.T, w *signingWorld, marker string) string {
	t.Helper()
	got := "never observed"
	s := w.open(func(o *Options) {
		o.Record = func(r *engine.Record) { got = r.Facts.Repos["gitops"].AskedBy(marker) }
	})
	if _, err := s.Engine().DryRun(ctx); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAPrivateKeyIsUsedOnlyForTheRepositoryThatItsSetNames(t *testing.T) {
	w := newSigningWorld(t, withKey)
	w.file("credentials/signing/url", "https://git.example.com/other")
	report := w.pass(w.open(nil))
	if !slices.ContainsFunc(report.Problems, func(p manifest.Problem) bool { return p.Reason == v1alpha1.ReasonCredentialsNotBound }) {
		t.Errorf("got %v", report.Problems)
	}
}

func TestWithoutAKeyNothingIsSigned(t *testing.T) {
	w := newSigningWorld(t, "")
	w.pass(w.open(nil))
	if text := gitIn(t, w.gitops, "cat-file", "commit", w.tip(tierOfWeb)); strings.Contains(text, "gpgsig") {
		t.Errorf("got %s", text)
	}
}
