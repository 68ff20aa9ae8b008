package fleet_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
)

const namespace = "fleet"

func reader(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: named(name), Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func TestASecretSaysWhereItMayBeSent(t *testing.T) {
	const token = "token-of-a-test"
	const control = "https://git.example.com/acme/control-plane"
	r := reader(t,
		secret("bound", map[string]string{"token": token, "url": "https://git.example.com/acme"}),
		secret("unbound", map[string]string{"token": token}),
		secret("of-flux", map[string]string{"username": "flux", "bearerToken": token, "caFile": "pem"}),
	)
	location := func(secret string, bound bool) fleet.Location {
		return fleet.Location{URL: control, Branch: "main", Secret: secret, Bound: bound}
	}
	tests := map[string]struct {
		location fleet.Location
		ask      string
		wantURL  string
		wantErr  string
	}{
		"a bound Secret is used":                            {location("", true), "bound", "https://git.example.com/acme", ""},
		"an unbound Secret is refused":                      {location("", true), "unbound", "", "Secret fleet/unbound does not say where it may be sent. Add the key url"},
		"an unbound Secret of the control plane is refused": {location("unbound", true), controlplane.ControlPlaneCredentials, "", "does not say where"},
		"Flux's own Secret is used without a URL":           {location("of-flux", false), controlplane.ControlPlaneCredentials, "", ""},
		"Flux's own Secret is refused under other names":    {location("of-flux", false), "of-flux", "", "does not say where"},
		"a missing Secret is reported with the next step":   {location("", true), "none", "", "there is no Secret fleet/none. Create it"},
		"a control plane without credentials is public":     {location("", true), controlplane.ControlPlaneCredentials, "", controlplane.ErrPublic.Error()},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := fleet.Options(t.Context(), r, nil, namespace, tc.location)
			if !o.RemoteOnly {
				t.Error("repositories on the controller's own disk are allowed")
			}
			set, err := o.Credentials.Set(tc.ask)
			switch {
			case tc.wantErr == "" && (err != nil || set.Token != token || set.URL != tc.wantURL):
				t.Errorf("got %+v, %v", set, err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr) || set.Token != ""):
				t.Errorf("got %v, want %q and no token", err, tc.wantErr)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Error("the error shows the token")
			}
		})
	}
	if _, err := fleet.Secret(t.Context(), r, namespace, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing Secret is %v", err)
	}
}

func TestLocate(t *testing.T) {
	git := func(name string, ref *sourcev1.GitRepositoryRef) *sourcev1.GitRepository {
		return &sourcev1.GitRepository{ObjectMeta: named(name), Spec: sourcev1.GitRepositorySpec{
			URL: "https://git.example.com/acme/control-plane", Reference: ref, SecretRef: &fluxmeta.LocalObjectReference{Name: "of-flux"},
		}}
	}
	verified := git("verified", &sourcev1.GitRepositoryRef{Branch: "prod"})
	verified.Spec.Verification = &sourcev1.GitRepositoryVerification{Mode: sourcev1.ModeGitHEAD, SecretRef: fluxmeta.LocalObjectReference{Name: "keys"}}
	tags := git("tags", &sourcev1.GitRepositoryRef{Branch: "prod"})
	tags.Spec.Verification = &sourcev1.GitRepositoryVerification{Mode: sourcev1.ModeGitTagAndHEAD, SecretRef: fluxmeta.LocalObjectReference{Name: "keys"}}
	r := reader(t, verified, tags, git("branch", &sourcev1.GitRepositoryRef{Branch: "prod"}), git("tag", &sourcev1.GitRepositoryRef{Tag: "v1"}), git("nothing", nil),
		git("tag-first", &sourcev1.GitRepositoryRef{Branch: "prod", Tag: "v1"}), git("pinned", &sourcev1.GitRepositoryRef{Branch: "prod", Commit: strings.Repeat("b", 40)}))
	commit := strings.Repeat("a", 40)
	tests := map[string]struct {
		source  v1alpha1.SeedSource
		want    fleet.Location
		wantErr string
	}{
		"a URL": {
			source: v1alpha1.SeedSource{URL: "https://git.example.com/a", Path: "fleets/eu", Credentials: "c"},
			want:   fleet.Location{URL: "https://git.example.com/a", Branch: "main", Path: "fleets/eu", Secret: "c", Bound: true},
		},
		"a branch and a commit of it": {
			source: v1alpha1.SeedSource{URL: "https://git.example.com/a", Revision: "release/1@sha1:" + commit},
			want:   fleet.Location{URL: "https://git.example.com/a", Branch: "release/1", Commit: commit, Bound: true},
		},
		"a GitRepository, with its branch and Secret": {
			source: v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "branch"}},
			want:   fleet.Location{URL: "https://git.example.com/acme/control-plane", Branch: "prod", Secret: "of-flux"},
		},
		"a GitRepository and another branch": {
			source: v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "tag"}, Revision: "main"},
			want:   fleet.Location{URL: "https://git.example.com/acme/control-plane", Branch: "main", Secret: "of-flux"},
		},
		"a GitRepository without a branch follows Flux's default": {
			source: v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "nothing"}},
			want:   fleet.Location{URL: "https://git.example.com/acme/control-plane", Branch: "master", Secret: "of-flux"},
		},
		"a GitRepository that is pinned to a commit": {
			source: v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "pinned"}},
			want:   fleet.Location{URL: "https://git.example.com/acme/control-plane", Branch: "prod", Commit: strings.Repeat("b", 40), Secret: "of-flux"},
		},
		"a GitRepository with a tag and a branch": {
			source:  v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "tag-first"}},
			wantErr: `GitRepository "tag-first" follows no branch`,
		},
		"a GitRepository whose commits are verified": {
			source: v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "verified"}},
			want:   fleet.Location{URL: "https://git.example.com/acme/control-plane", Branch: "prod", Secret: "of-flux", VerifySecret: "keys"},
		},
		"a GitRepository whose tags are verified": {
			source:  v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "tags"}},
			wantErr: `GitRepository "tags" verifies tags (spec.verify.mode: TagAndHEAD), and Furrow reads a branch`,
		},
		"a GitRepository without a branch": {
			source:  v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "tag"}},
			wantErr: `GitRepository "tag" follows no branch. Let it follow one, or make a Seed that names the branch in spec.source.revision`,
		},
		"a GitRepository that does not exist": {
			source:  v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "none"}},
			wantErr: `there is no GitRepository "none" in namespace fleet. Create it`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			seed := &v1alpha1.Seed{ObjectMeta: named("web"), Spec: v1alpha1.SeedSpec{Source: &tc.source}}
			got, err := fleet.Locate(t.Context(), r, fleet.Of(seed))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheVersionOfSettingsChangesWithTheirContent(t *testing.T) {
	seed := v1alpha1.Seed{ObjectMeta: named("web"), Spec: v1alpha1.SeedSpec{Source: &v1alpha1.SeedSource{URL: "https://git.example.com/a"}}}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edge-1", Labels: map[string]string{"region": "eu"}}}
	docs, err := fleet.Documents(t.Context(), reader(t, cluster), namespace)
	if err != nil {
		t.Fatal(err)
	}
	suspended := *seed.DeepCopy()
	suspended.Spec.Suspend = true
	misspelled := *seed.DeepCopy()
	misspelled.Annotations = map[string]string{"furrow.dev/confirm": "now"}
	cases := map[string]struct {
		wanted, removed []v1alpha1.Seed
		docs            []fleet.Document
	}{
		"the seed, misspelled": {wanted: []v1alpha1.Seed{misspelled}},
		"a seed":               {wanted: []v1alpha1.Seed{seed}},
		"the seed, suspended":  {wanted: []v1alpha1.Seed{suspended}},
		"the seed, removed":    {removed: []v1alpha1.Seed{seed}},
		"no seed":              {},
		"a seed and a cluster": {wanted: []v1alpha1.Seed{seed}, docs: docs},
	}
	versions := map[string]string{}
	for name, tc := range cases {
		s, err := fleet.Settings(engine.Settings{}, namespace, tc.wanted, tc.removed, tc.docs)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := versions[s.Version]; taken {
			t.Errorf("%q and %q have the same version", name, other)
		}
		versions[s.Version] = name
		for last, had := range map[string]engine.Settings{"none": {}, "the same": s, "others": {Version: "others"}} {
			again, err := fleet.Settings(had, namespace, tc.wanted, tc.removed, tc.docs)
			if err != nil || again.Version != s.Version || len(again.Documents) != len(s.Documents) {
				t.Errorf("%q differs the second time, after %s: %v", name, last, err)
			}
		}
		if s.Scope["web"] != (len(tc.wanted)+len(tc.removed) > 0) {
			t.Errorf("%q: the scope is %v", name, s.Scope)
		}
		if len(s.Documents) != len(tc.docs) || len(s.Documents) > 0 && s.Documents[0].Source.String() != "Cluster resource fleet/edge-1" {
			t.Errorf("%q: the documents are %v", name, s.Documents)
		}
	}
}

// TestUnknownAnnotationsOfASeedResourceBlockTheSeed tests all steps from the resource to the planned seed.
func TestUnknownAnnotationsOfASeedResourceBlockTheSeed(t *testing.T) {
	for annotation, want := range map[string]string{
		v1alpha1.AnnotationRetry:   "",
		"furrow.dev/confirm":       `Seed resource fleet/web: Seed "web": annotation "furrow.dev/confirm" is unknown. Write furrow.dev/confirm-removal, or remove it.`,
		v1alpha1.AnnotationCluster: `Seed resource fleet/web: Seed "web": annotation furrow.dev/cluster is for the objects of a seed, and has no effect here. Remove it.`,
	} {
		seed := v1alpha1.Seed{ObjectMeta: named("web")}
		seed.Annotations = map[string]string{annotation: "now"}
		s, err := fleet.Settings(engine.Settings{}, namespace, []v1alpha1.Seed{seed}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalog.LoadWith(fstest.MapFS{"seeds/web.yaml": {Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n")}}, s.Resources)
		if err != nil || len(c.Seeds) != 1 {
			t.Fatalf("%d seeds, %v", len(c.Seeds), err)
		}
		got := ""
		if c.Seeds[0].Err != nil {
			got = c.Seeds[0].Err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", annotation, got, want)
		}
	}
}

func TestSameTree(t *testing.T) {
	seed := func(source v1alpha1.SeedSource) *v1alpha1.Seed {
		return &v1alpha1.Seed{Spec: v1alpha1.SeedSpec{Source: &source}}
	}
	one := v1alpha1.SeedSource{URL: "https://git.example.com/acme/a.git", Revision: "main"}
	for name, tc := range map[string]struct {
		other v1alpha1.SeedSource
		want  bool
	}{
		"the same, written differently": {v1alpha1.SeedSource{URL: "https://Git.example.com/acme/a/", Credentials: "c"}, true},
		"at a commit":                   {v1alpha1.SeedSource{URL: one.URL, Revision: "main@sha1:" + strings.Repeat("a", 40)}, true},
		"another branch":                {v1alpha1.SeedSource{URL: one.URL, Revision: "prod"}, false},
		"another path":                  {v1alpha1.SeedSource{URL: one.URL, Path: "eu"}, false},
		"a GitRepository":               {v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "a"}}, false},
	} {
		if got := fleet.SameTree(seed(one), seed(tc.other)); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
