package seed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

// reconciler returns a Reconciler with a fake API server that has the objects.
func reconciler(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Seed{}, &v1alpha1.Planting{}).WithInterceptorFuncs(funcs).Build()
	return &Reconciler{client: c, recorder: events.NewFakeRecorder(32)}
}

// web is the Seed "web" of namespace fleet.
func web(changes ...func(*v1alpha1.Seed)) *v1alpha1.Seed {
	s := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "web", UID: "1"}}
	for _, change := range changes {
		change(s)
	}
	return s
}

func deleted(finalizers ...string) func(*v1alpha1.Seed) {
	return func(s *v1alpha1.Seed) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: noon}, slices.Concat(finalizers, []string{v1alpha1.Finalizer})
	}
}

func TestRequestsStayPendingOnAllSeedsWhileTheServerIsDown(t *testing.T) {
	away, err := controlplane.Open(t.Context(), controlplane.Options{ControlPlane: "http://127.0.0.1:1/acme/control-plane", Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	r := reconciler(t, interceptor.Funcs{})
	s := &reconcileState{session: &session{open: away}, handled: map[string]v1alpha1.HandledRequests{}}
	for _, name := range []string{"api", "web"} { // kubectl furrow abandon annotates all Seeds on the cluster
		s.Wanted = append(s.Wanted, *web(func(seed *v1alpha1.Seed) {
			seed.Name, seed.Annotations = name, map[string]string{v1alpha1.AnnotationAbandon: "edge-1", v1alpha1.AnnotationRetry: "now"}
		}))
	}
	if _, err := away.Engine().PassAfter(t.Context(), func(ctx context.Context, q *engine.Requests) { r.handleRequests(ctx, s, q) }); err == nil {
		t.Error("a pass was made without a control plane")
	}
	for name, handled := range s.handled {
		if handled != (v1alpha1.HandledRequests{}) {
			t.Errorf("Seed %s: nothing could be done, but %+v is recorded as done", name, handled)
		}
	}
}

func TestRecordedRequestsAreBounded(t *testing.T) {
	long := web(func(s *v1alpha1.Seed) {
		s.Annotations = map[string]string{
			v1alpha1.AnnotationRetry:   strings.Repeat("ä", v1alpha1.MaxRequest),
			v1alpha1.AnnotationAbandon: strings.Repeat("edge-1,", v1alpha1.MaxAbandon),
		}
	})
	if got := requested(long, v1alpha1.AnnotationRetry, v1alpha1.MaxRequest); got == "" || len(got) > v1alpha1.MaxRequest {
		t.Errorf("%d bytes of a retry", len(got))
	}
	got := requested(long, v1alpha1.AnnotationAbandon, v1alpha1.MaxAbandon)
	if len(got) > v1alpha1.MaxAbandon || !strings.HasSuffix(got, "edge-1") {
		t.Errorf("%d bytes of a list, which ends in %q", len(got), got[max(0, len(got)-8):])
	}
}

func TestARefusedPlantingDoesNotBlockTheStatusOfTheSeed(t *testing.T) {
	refused := errors.New("the Planting is invalid")
	seed := web()
	r := reconciler(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		if _, is := o.(*v1alpha1.Planting); is {
			return refused
		}
		return c.SubResource(sub).Patch(ctx, o, patch, opts...)
	}}, seed)
	s := &reconcileState{handled: map[string]v1alpha1.HandledRequests{"web": {Retry: "now"}}}
	v := view{now: noon, report: report(tier(0, release.Proposed))}
	if err := r.finishSeed(t.Context(), s, seed, v, map[string]*v1alpha1.Planting{}); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	var got v1alpha1.Seed
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(seed), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status.Handled.Retry != "now" || got.Status.State != "Proposed" {
		t.Errorf("the status is %+v", got.Status)
	}
}

func TestPlantingsAreNotCreatedIfTheyWouldBeDeletedAtOnce(t *testing.T) {
	terminating := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("plantings").GroupResource(), "web.edge-1", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		seed   *v1alpha1.Seed
		create error
		want   int
	}{
		"a Seed":                              {seed: web(), want: 1},
		"a Seed that is being removed":        {seed: web(deleted()), want: 1},
		"a Seed whose dependents are deleted": {seed: web(deleted(metav1.FinalizerDeleteDependents))},
		"a Seed of a terminating namespace":   {seed: web(deleted()), create: terminating},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := reconciler(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if tc.create != nil {
					return tc.create
				}
				return c.Create(ctx, o, opts...)
			}}, tc.seed)
			if err := r.showPlantings(t.Context(), tc.seed, view{now: noon, report: report(tier(0, release.Proposed))}, map[string]*v1alpha1.Planting{}); err != nil {
				t.Fatal(err)
			}
			var list v1alpha1.PlantingList
			if err := r.client.List(t.Context(), &list); err != nil || len(list.Items) != tc.want {
				t.Errorf("there are %d Plantings, %v", len(list.Items), err)
			}
		})
	}
}

func TestADeletedSeedIsReleasedWhenNothingIsLeft(t *testing.T) {
	empty := &engine.Report{State: state.State{Revision: "main@sha1:1"}, Repos: map[string]engine.RepoReport{"fleet": {}}}
	away := view{now: noon, err: errors.New("there is no such repository")}
	tests := map[string]struct {
		view   view
		status v1alpha1.SeedStatus
		gone   bool
	}{
		"its removal was observed to the end":          {view{now: noon, report: empty}, v1alpha1.SeedStatus{Revision: "main@sha1:0", Plan: &v1alpha1.PlanSummary{Removal: true}}, true},
		"its plan is missing":                          {view{now: noon, report: empty}, v1alpha1.SeedStatus{Revision: "main@sha1:0", Plan: &v1alpha1.PlanSummary{}}, false},
		"its source was never read":                    {away, v1alpha1.SeedStatus{}, true},
		"its source cannot be read any more":           {away, v1alpha1.SeedStatus{Revision: "main@sha1:0"}, false},
		"its source cannot be read, and it is planted": {away, v1alpha1.SeedStatus{Revision: "main@sha1:0", Plan: &v1alpha1.PlanSummary{}}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			seed := web(deleted(), func(s *v1alpha1.Seed) { s.Status = tc.status })
			r := reconciler(t, interceptor.Funcs{}, seed)
			for pass := range 3 { // what one pass writes must not mislead the next
				var is v1alpha1.Seed
				err := r.client.Get(t.Context(), client.ObjectKeyFromObject(seed), &is)
				if apierrors.IsNotFound(err) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := r.finishSeed(t.Context(), &reconcileState{}, &is, tc.view, map[string]*v1alpha1.Planting{}); err != nil {
					t.Fatalf("pass %d: %v", pass, err)
				}
			}
			err := r.client.Get(t.Context(), client.ObjectKeyFromObject(seed), &v1alpha1.Seed{})
			if gone := apierrors.IsNotFound(err); gone != tc.gone {
				t.Errorf("gone is %t, want %t", gone, tc.gone)
			}
		})
	}
}

func TestTheSameTreeIsFoundThroughAGitRepository(t *testing.T) {
	through := func(namespace string, made time.Time) *v1alpha1.Seed {
		return web(func(s *v1alpha1.Seed) {
			s.Namespace, s.CreationTimestamp = namespace, metav1.NewTime(made)
			s.Spec.Source = &v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: "control-plane"}}
		})
	}
	git := func(namespace, url string) *sourcev1.GitRepository {
		return &sourcev1.GitRepository{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "control-plane"},
			Spec:       sourcev1.GitRepositorySpec{URL: url, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}},
		}
	}
	byURL := web(func(s *v1alpha1.Seed) {
		s.CreationTimestamp, s.Spec.Source = metav1.NewTime(noon), &v1alpha1.SeedSource{URL: "https://git.example.com/acme/control-plane.git"}
		s.Status = planted(release.Released)
	})
	second, other := through("second", noon.Add(time.Hour)), through("other", noon.Add(time.Hour))
	r := reconciler(t, interceptor.Funcs{}, byURL, second, other,
		git("second", "https://me:secret@git.example.com/acme/control-plane"), git("other", "https://git.example.com/other/control-plane"))
	for seed, want := range map[*v1alpha1.Seed]string{second: "fleet/web", other: "", byURL: ""} {
		duplicates, err := r.findDuplicates(t.Context(), []v1alpha1.Seed{*seed})
		if err != nil || duplicates["web"] != want {
			t.Errorf("the Seed of namespace %s is a duplicate of %q, want %q (%v)", seed.Namespace, duplicates["web"], want, err)
		}
	}
}

// planted is the status of a Seed with a plan in the repository "fleet" and a tier in some state.
func planted(in release.State) v1alpha1.SeedStatus {
	return v1alpha1.SeedStatus{Plan: &v1alpha1.PlanSummary{Repos: []string{"fleet"}}, Tiers: []v1alpha1.StateCount{{State: string(in), Count: 1}}}
}

// TestASeedThatHasNotPlantedBlocksNobody: anybody who may create a Seed can name another tenant's tree.
func TestASeedThatHasNotPlantedBlocksNobody(t *testing.T) {
	const tree, fleetURL = "https://git.example.com/acme/control-plane", "https://git.example.com/acme/fleet"
	seed := func(namespace string, made time.Time, status v1alpha1.SeedStatus) *v1alpha1.Seed {
		return web(func(s *v1alpha1.Seed) {
			s.Namespace, s.CreationTimestamp, s.Status = namespace, metav1.NewTime(made), status
			s.Spec.Source = &v1alpha1.SeedSource{URL: tree}
		})
	}
	repo := func(namespace, url string) *v1alpha1.GitOpsRepo {
		return &v1alpha1.GitOpsRepo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet"}, Spec: v1alpha1.GitOpsRepoSpec{URL: url}}
	}
	never := v1alpha1.SeedStatus{}
	inMemory := planted(release.Queued)
	unread := v1alpha1.SeedStatus{Plan: &v1alpha1.PlanSummary{Repos: []string{"fleet"}}}
	tests := map[string]struct {
		mine, others v1alpha1.SeedStatus
		younger      bool // the other one
		repos        []client.Object
		want         string
	}{
		"an older one that was never read":                   {mine: never, others: never},
		"an older one whose plan was never pushed":           {mine: never, others: inMemory},
		"an older one whose plan has no states":              {mine: planted(release.Released), others: unread},
		"an older one that waits, and mine is planted":       {mine: planted(release.Released), others: inMemory},
		"an older one that has planted":                      {mine: never, others: planted(release.Proposed), want: "squatter/web"},
		"an older one that has planted, as mine has":         {mine: planted(release.Merged), others: planted(release.Merged), want: "squatter/web"},
		"a younger one that has planted, and mine has not":   {mine: inMemory, others: planted(release.Released), younger: true, want: "squatter/web"},
		"a younger one that has planted, as mine has":        {mine: planted(release.Released), others: planted(release.Released), younger: true},
		"one that has planted in a repository of its own":    {mine: never, others: planted(release.Released), repos: []client.Object{repo("squatter", "https://git.example.com/squatter/fleet"), repo("payments", fleetURL)}},
		"one that has planted in mine":                       {mine: never, others: planted(release.Released), repos: []client.Object{repo("squatter", "ssh://git@git.example.com/acme/fleet.git"), repo("payments", fleetURL)}, want: "squatter/web"},
		"one that has planted where I have no repository":    {mine: never, others: planted(release.Released), repos: []client.Object{repo("squatter", fleetURL)}},
		"one that has planted in the repository of the tree": {mine: never, others: planted(release.Released), repos: []client.Object{repo("payments", fleetURL)}, want: "squatter/web"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			made := noon.Add(-time.Hour)
			if tc.younger {
				made = noon.Add(time.Hour)
			}
			mine, other := seed("payments", noon, tc.mine), seed("squatter", made, tc.others)
			r := reconciler(t, interceptor.Funcs{}, append(tc.repos, mine, other)...)
			got, err := r.findDuplicates(t.Context(), []v1alpha1.Seed{*mine})
			if err != nil || got["web"] != tc.want {
				t.Errorf("payments/web is a duplicate of %q, want %q (%v)", got["web"], tc.want, err)
			}
		})
	}
}

// noMeter counts nothing.
type noMeter struct{ Meter }

func (noMeter) Forget(fleet.ControlPlane) {}

func TestForgettingAControlPlaneDeletesItsCache(t *testing.T) {
	cache := t.TempDir()
	r := &Reconciler{options: Options{Cache: cache, Snapshots: &fleet.Snapshots{}, Meter: noMeter{}}}
	one, other := fleet.ControlPlane{Namespace: "fleet", URL: "https://git/a", Credentials: "a"}, fleet.ControlPlane{Namespace: "fleet", URL: "https://git/a"}
	for _, cp := range []fleet.ControlPlane{one, other} {
		if err := os.MkdirAll(filepath.Join(r.cacheOf(cp), "mirror"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.forget(one)
	left, err := filepath.Glob(filepath.Join(cache, "fleet", "*"))
	if err != nil || len(left) != 1 || left[0] != r.cacheOf(other) {
		t.Errorf("there are %v, %v", left, err)
	}
}
