// Package fleet reads the custom resources of a namespace: the control-plane trees
// that Seeds name, the credentials for them, and the settings that the resources add
// to the trees.
//
// All Seeds of a namespace that name the same tree are one ControlPlane: one
// session, one engine, one pass. Secrets are read by name, and only when a
// repository is opened.
//
// Every call reads again; nothing is cached.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// ControlPlane identifies a control-plane tree by the source of the Seeds of a namespace.
type ControlPlane struct {
	Namespace string
	// URL, or the name of a GitRepository in the namespace.
	URL, GitRepository string
	// Revision, Path and Credentials are those of the Seeds' source.
	Revision, Path, Credentials string
}

// Of returns the control plane of a Seed.
func Of(seed *v1alpha1.Seed) ControlPlane {
	cp := ControlPlane{Namespace: seed.Namespace}
	source := seed.Spec.Source
	if source == nil {
		return cp
	}
	cp.URL, cp.Revision, cp.Path, cp.Credentials = source.URL, source.Revision, source.Path, source.Credentials
	if source.GitRepositoryRef != nil {
		cp.GitRepository = source.GitRepositoryRef.Name
	}
	return cp
}

// SameTree reports whether two Seeds name the same tree by its URL.
func SameTree(a, b *v1alpha1.Seed) bool {
	key := func(seed *v1alpha1.Seed) ControlPlane {
		cp := Of(seed)
		branch, _, _ := strings.Cut(cp.Revision, "@")
		return ControlPlane{URL: catalog.CanonicalURL(cp.URL), Revision: cmp.Or(branch, "main"), Path: strings.Trim(cp.Path, "/.")}
	}
	return Of(a).URL != "" && key(a) == key(b)
}

// String names the control plane in logs.
func (cp ControlPlane) String() string {
	name := cp.URL
	if cp.GitRepository != "" {
		name = "GitRepository/" + cp.GitRepository
	}
	name = cp.Namespace + "/" + name
	if cp.Revision != "" {
		name += "@" + cp.Revision
	}
	if cp.Path != "" {
		name += ":" + cp.Path
	}
	return name
}

// compare orders control planes.
func (cp ControlPlane) compare(o ControlPlane) int {
	return cmp.Or(cmp.Compare(cp.String(), o.String()), cmp.Compare(cp.Credentials, o.Credentials))
}

// Location is where a control-plane tree is, and the credentials for it.
type Location struct {
	URL, Branch, Commit, Path string
	// Secret has the credentials; empty for none. Bound requires that it has the URL that
	// it may be sent to.
	Secret string
	Bound  bool
	// VerifySecret has the public keys that commits must be signed with; empty if any commit is planned.
	// Verify are these keys, once they were read.
	VerifySecret, Verify string
}

// errNoFlux reports that the cluster does not have the kind GitRepository.
var errNoFlux error = manifest.Problem{Reason: v1alpha1.ReasonGitRepositoryMissing, Message: "the cluster has no GitRepositories: install Flux, or make a Seed that names the repository in spec.source.url"}

// Locate resolves the location of a control plane: what its Seeds name, or what the GitRepository
// does that they name. Of the latter it takes what Furrow does itself, which is to follow a branch and to
// verify its commits; one that asks for more must not be read without that. If the error means
// that it must not be read, the location may still have its URL.
func Locate(ctx context.Context, r client.Reader, cp ControlPlane) (Location, error) {
	branch, commit, _ := strings.Cut(cp.Revision, "@sha1:")
	at := Location{URL: cp.URL, Branch: branch, Commit: commit, Path: cp.Path, Secret: cp.Credentials, Bound: true}
	if cp.GitRepository == "" {
		at.Branch = cmp.Or(at.Branch, "main")
		return at, nil
	}
	var source sourcev1.GitRepository
	err := r.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: cp.GitRepository}, &source)
	switch {
	case meta.IsNoMatchError(err):
		return Location{}, errNoFlux
	case apierrors.IsNotFound(err):
		return Location{}, manifest.Problem{Reason: v1alpha1.ReasonGitRepositoryMissing, Message: fmt.Sprintf("there is no GitRepository %q in namespace %s", cp.GitRepository, cp.Namespace), Next: "Create it, or make a Seed that names another one"}
	case err != nil:
		return Location{}, fmt.Errorf("reading GitRepository %q: %w", cp.GitRepository, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonSourceFailed}, err))
	}
	at.URL, at.Bound = source.Spec.URL, false
	if source.Spec.SecretRef != nil {
		at.Secret = source.Spec.SecretRef.Name
	}
	if ref := source.Spec.Reference; ref != nil && at.Branch == "" {
		if ref.Tag != "" || ref.SemVer != "" || ref.Name != "" || ref.Commit != "" && ref.Branch == "" {
			return Location{}, manifest.Problem{Reason: v1alpha1.ReasonGitRepositoryUnfit, Message: fmt.Sprintf("GitRepository %q follows no branch", cp.GitRepository), Next: "Let it follow one, or make a Seed that names the branch in spec.source.revision"}
		}
		at.Branch, at.Commit = ref.Branch, ref.Commit
	}
	at.Branch = cmp.Or(at.Branch, "master") // Flux's default
	if verify := source.Spec.Verification; verify != nil {
		if verify.VerifyTag() {
			return at, manifest.Problem{Reason: v1alpha1.ReasonGitRepositoryUnfit, Message: fmt.Sprintf("GitRepository %q verifies tags (spec.verify.mode: %s), and Furrow reads a branch", cp.GitRepository, verify.Mode), Next: "Set it to HEAD, or make a Seed that names the repository in spec.source.url"}
		}
		at.VerifySecret = verify.SecretRef.Name
	}
	return at, nil
}

// ReadKeys reads the public keys that commits must be signed with, as Flux does: SSH keys from the keys
// of the Secret that end in .sshpub, OpenPGP keys from all others.
func (at *Location) ReadKeys(ctx context.Context, r client.Reader, namespace string) error {
	if at.VerifySecret == "" {
		return nil
	}
	data, err := Secret(ctx, r, namespace, at.VerifySecret)
	if err != nil {
		return fmt.Errorf("the keys that verify the control plane: %w", err)
	}
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if _, err := signature.Parse(string(data[name])); err != nil {
			return manifest.Problem{Reason: v1alpha1.ReasonGitRepositoryUnfit, Message: fmt.Sprintf("Secret %s/%s, which the GitRepository verifies commits with: %s: %v", namespace, at.VerifySecret, name, err), Next: "Correct it"}
		}
		keys = append(keys, string(data[name]))
	}
	at.Verify = strings.Join(keys, "\n")
	return nil
}

// longestPause is the longest pause between retries.
const longestPause = time.Minute

// Limiter returns the rate limiter for retries.
func Limiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](100*time.Millisecond, longestPause)
}

// Options returns the options to open a session at the location. Secrets of the namespace
// are read with r, when a repository is opened, until ctx ends, and created with w unless it is nil.
func Options(ctx context.Context, r client.Reader, w client.Writer, namespace string, at Location) controlplane.Options {
	keys, _ := signature.Parse(at.Verify) // ReadKeys has checked them
	return controlplane.Options{
		VerifyWith:   keys,
		Slices:       true,
		ControlPlane: at.URL, Branch: at.Branch, Commit: at.Commit, Path: at.Path, RemoteOnly: true,
		Credentials: secrets{ctx: ctx, reader: r, writer: w, namespace: namespace, own: at.Secret, bound: at.Bound},
	}
}

// secrets provides the sets of credentials of a namespace.
type secrets struct {
	ctx    context.Context
	reader client.Reader
	// writer creates Secrets; nil where that is not done.
	writer    client.Writer
	namespace string
	// own is the Secret of the control plane's repository; unless it is bound, it does
	// not need the URL that it may be sent to.
	own   string
	bound bool
}

// readLimit is the timeout for reading one Secret.
const readLimit = 10 * time.Second

// Set implements controlplane.Credentials. The keys of the Secret are those of a set, and those
// that Flux uses for the same (bearerToken, caFile). A Secret must say where it may be sent (url),
// unless a GitRepository names it next to its URL.
func (s secrets) Set(name string) (controlplane.Set, error) {
	bound := true
	if name == controlplane.ControlPlaneCredentials {
		if s.own == "" {
			return controlplane.Set{}, controlplane.ErrPublic
		}
		name, bound = s.own, s.bound
	}
	ctx, cancel := context.WithTimeout(s.ctx, readLimit)
	defer cancel()
	data, err := Secret(ctx, s.reader, s.namespace, name)
	if err != nil {
		return controlplane.Set{}, err
	}
	set := controlplane.NewSet(func(key string) string { return string(data[key]) })
	set.Token = cmp.Or(set.Token, strings.TrimSpace(string(data["bearerToken"])))
	if len(set.CABundle) == 0 {
		set.CABundle = data["caFile"]
	}
	if bound && set.URL == "" {
		return controlplane.Set{}, manifest.Problem{Reason: v1alpha1.ReasonCredentialsNotBound, Message: fmt.Sprintf("Secret %s/%s does not say where it may be sent", s.namespace, name), Next: "Add the key url: the repository's URL, or the beginning of several"}
	}
	return set, nil
}

// MakeKey implements controlplane.KeyMaker: it creates a Secret with a new key, which is bound to the
// URL. It changes no Secret that exists.
func (s secrets) MakeKey(name, url string) error {
	if s.writer == nil {
		return missing{s.namespace, name}
	}
	private, err := signature.Generate()
	if err != nil {
		return err
	}
	signer, err := signature.NewSigner(private, nil, time.Now()) //nolint:forbidigo // the key is made now
	if err != nil {
		return err
	}
	public, err := signer.Key().Public()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "furrow"}},
		Data:       map[string][]byte{controlplane.SigningKeyFile: private, controlplane.SigningPublicFile: []byte(public + "\n"), "url": []byte(url)},
	}
	ctx, cancel := context.WithTimeout(s.ctx, readLimit)
	defer cancel()
	err = s.writer.Create(ctx, secret)
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return manifest.Problem{Reason: v1alpha1.ReasonSigningKeyMissing, Message: fmt.Sprintf("Secret %s/%s, which is to have a key to sign with, may not be created", s.namespace, name), Next: "Allow the controller to create Secrets (rbac.createSigningKeys of the chart), or create the Secret with signing.key and url"}
	}
	return fmt.Errorf("creating Secret %s/%s with a key to sign with: %w", s.namespace, name, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonSigningKeyMissing}, err))
}

// Secret reads a Secret by name; the error for a missing one is fs.ErrNotExist.
func Secret(ctx context.Context, r client.Reader, namespace, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, missing{namespace, name}
	case apierrors.IsForbidden(err):
		return nil, manifest.Problem{Reason: v1alpha1.ReasonAccessForbidden, Message: fmt.Sprintf("Secret %s/%s may not be read: allow to get it", namespace, name)}
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonCredentialsMissing}, err))
	}
	return secret.Data, nil
}

// missing reports a Secret that does not exist.
type missing struct{ namespace, name string }

// Reason is read by manifest.ReasonOf.
func (m missing) Reason() string { return string(v1alpha1.ReasonCredentialsMissing) }

func (m missing) Error() string {
	return fmt.Sprintf("there is no Secret %s/%s. Create it, or correct its name", m.namespace, m.name)
}

// Is makes it equal to fs.ErrNotExist.
func (m missing) Is(target error) bool { return target == fs.ErrNotExist }

// Seeds returns the Seeds of a control plane, sorted by name.
func Seeds(ctx context.Context, r client.Reader, cp ControlPlane) ([]v1alpha1.Seed, error) {
	var list v1alpha1.SeedList
	if err := r.List(ctx, &list, client.InNamespace(cp.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the Seeds of namespace %s: %w", cp.Namespace, err)
	}
	seeds := slices.DeleteFunc(list.Items, func(s v1alpha1.Seed) bool { return Of(&s) != cp })
	slices.SortFunc(seeds, func(a, b v1alpha1.Seed) int { return strings.Compare(a.Name, b.Name) })
	return seeds, nil
}

// Dispositions has the Seeds of a control plane by what happens to them.
type Dispositions struct {
	// Wanted are planted, Removed have their plantings removed.
	Wanted, Removed []v1alpha1.Seed
	// Released are deleted while their plantings remain; it has the causes by name.
	Released map[string]string
}

// DispositionsOf decides what happens to Seeds. duplicates has those that another Seed plants
// already, with that Seed's name. Every Seed is in at most one of the results; a duplicate that is
// not deleted is in none.
func DispositionsOf(seeds []v1alpha1.Seed, duplicates map[string]string, now time.Time) Dispositions {
	d := Dispositions{Released: map[string]string{}}
	for i := range seeds {
		seed := &seeds[i]
		timeout := seed.Spec.DeletionTimeoutOrDefault()
		switch {
		case duplicates[seed.Name] != "":
			if !seed.DeletionTimestamp.IsZero() {
				d.Released[seed.Name] = "Seed " + duplicates[seed.Name] + " plants it"
			}
		case seed.DeletionTimestamp.IsZero():
			d.Wanted = append(d.Wanted, *seed)
		case seed.Spec.DeletionPolicyOrDefault() == v1alpha1.DeletionOrphan:
			d.Released[seed.Name] = "spec.deletionPolicy is Orphan"
		case now.Sub(seed.DeletionTimestamp.Time) > timeout:
			d.Released[seed.Name] = fmt.Sprintf("it could not be removed within %s", timeout)
		default:
			d.Removed = append(d.Removed, *seed)
		}
	}
	return d
}
