package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/test/signingkey"
)

// Flux verifies the newest commit of the branch, which the forge's way to merge makes: docs/signing.md has
// the table. TestWhatMergingDoesToASignature of the forge has all ways.
func TestFluxThatVerifiesSignaturesAppliesWhatIsMerged(t *testing.T) {
	t.Parallel()
	s := newStory(t, "signed")
	furrow, person := signingkey.New(t), signingkey.New(t)
	if err := writeFile(filepath.Join(s.dir, "credentials", "gitops", "signing.key"), string(furrow.Private)); err != nil {
		t.Fatal(err)
	}
	fleet := s.fleet()
	fleet["fleet/gitops-repo.yaml"] = strings.Replace(fleet["fleet/gitops-repo.yaml"], "credentials: gitops}", "credentials: gitops, signing: {credentials: gitops}}", 1)
	s.verify("Tag", map[string]string{"furrow.sshpub": furrow.Public})
	s.commit("Say hello", fleet, s.saying("hello"))
	s.run()
	s.step("A source that verifies tags is named, and nothing is proposed", func() {
		if tier := s.awaitState(motd, "Held"); tier.Reason != "RootVerification" {
			t.Errorf("%+v", tier)
		}
		s.mustNotOpen(motd)
	})
	s.step("A rebase keeps Furrow's signature, which Flux accepts", func() {
		s.verify("HEAD", map[string]string{"furrow.sshpub": furrow.Public})
		s.releaseVerified(sdk.MergeStyleRebase)
		s.mustSay("hello")
		s.mustBeVerified(furrow.Public)
	})
	s.step("A merge commit that nobody signs is refused, until a signed one follows", func() {
		s.commit("Say good day", s.saying("good day"))
		s.merge(s.awaitPull(motd), sdk.MergeStyleMerge)
		s.fetchNow()
		s.eventually(limit, "Flux refuses the merge commit", func() (bool, string) {
			is := s.verified()
			return is != nil && is.Status == metav1.ConditionFalse, fmt.Sprint(is)
		})
		s.mustSay("hello")
	})
	gitea, err := s.world.gitea.SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	s.verify("HEAD", map[string]string{"furrow.sshpub": furrow.Public, "gitea.sshpub": gitea})
	if err := s.world.gitea.AddPublicKey(t.Context(), s.person.name, person.Public); err != nil {
		t.Fatal(err)
	}
	for text, style := range map[string]sdk.MergeStyle{"good evening": sdk.MergeStyleMerge, "good night": sdk.MergeStyleSquash} {
		s.step("Flux accepts Gitea's signature of a "+string(style), func() {
			s.commit("Say "+text, s.saying(text))
			s.releaseVerified(style)
			s.mustSay(text)
			s.mustBeVerified(gitea)
		})
	}
}

// releaseVerified merges the pull request of the tier, and waits until all is Released.
func (s *story) releaseVerified(style sdk.MergeStyle) {
	s.t.Helper()
	s.merge(s.awaitPull(motd), style)
	s.fetchNow()
	s.awaitReleased()
}

// fetchNow has Flux fetch at once: after a commit that it refused it waits for minutes.
func (s *story) fetchNow() {
	s.t.Helper()
	source := s.source()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, fluxmeta.ReconcileRequestAnnotation, time.Now().Format(time.RFC3339Nano))
	if err := s.world.mgmt.Client().Patch(s.t.Context(), source, client.RawPatch(types.MergePatchType, patch)); err != nil {
		s.t.Fatal(err)
	}
}

// saying is the seed with a text.
func (s *story) saying(text string) files {
	return files{"seeds/motd.yaml": strings.Replace(fmt.Sprintf(oneTier, s.namespace), "hello", text, 1)}
}

// verify makes the story's source verify signatures by some keys.
func (s *story) verify(mode string, keys map[string]string) {
	s.t.Helper()
	mgmt, ctx := s.world.mgmt.Client(), s.t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "keys"}, StringData: keys}
	if err := client.IgnoreAlreadyExists(mgmt.Create(ctx, secret.DeepCopy())); err != nil {
		s.t.Fatal(err)
	}
	if err := mgmt.Update(ctx, secret); err != nil {
		s.t.Fatal(err)
	}
	source := s.source()
	if err := mgmt.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
		s.t.Fatal(err)
	}
	before := source.DeepCopy()
	source.Spec.Verification = &sourcev1.GitRepositoryVerification{Mode: sourcev1.GitVerificationMode(mode), SecretRef: fluxmeta.LocalObjectReference{Name: "keys"}}
	if err := mgmt.Patch(ctx, source, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// verified is what the story's source says of the newest commit; nil while it says nothing.
func (s *story) verified() *metav1.Condition {
	s.t.Helper()
	source := s.source()
	if err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range source.Status.Conditions {
		if c.Type == sourcev1.SourceVerifiedCondition && c.ObservedGeneration == source.Generation {
			return &c
		}
	}
	return nil
}

// mustBeVerified fails unless the source accepted its commit by a key.
func (s *story) mustBeVerified(by string) {
	s.t.Helper()
	ring, err := signature.Parse(by)
	if err != nil {
		s.t.Fatal(err)
	}
	if is := s.verified(); is == nil || is.Status != metav1.ConditionTrue || !strings.Contains(is.Message, ring[0].ID()) {
		s.t.Errorf("the source says %+v, and the key is %s", is, ring[0].ID())
	}
}
