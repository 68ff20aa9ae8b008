package merging_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/merging"
)

func TestEachWayToMergeIsJudgedByWhoseSignatureItLeaves(t *testing.T) {
	const ours, former, forges, persons = "ours", "former", "forges", "persons"
	ways := []merging.Way{
		{Name: "merge", Signer: merging.ByForge}, {Name: "squash", Signer: merging.ByForge, Squashes: true},
		{Name: "rebase", Signer: merging.ByNobody}, {Name: "fast-forward", Signer: merging.ByFurrow, Current: true},
	}
	cases := map[string]struct {
		repository   merging.Repository
		keys         string
		signing      string
		wantAccepted string
		wantNext     string
	}{
		"Furrow's key only": {merging.Repository{}, ours, ours, "fast-forward",
			"Add the public key that the forge signs with to the Secret a/keys, for merge commit and squash"},
		"the key of a forge that does not say which it is": {merging.Repository{}, ours + " " + persons, ours, "merge commit, squash and fast-forward", "Allow another way to merge"},
		"the key of a forge that says which it is":         {merging.Repository{Keys: []string{forges}}, forges, ours, "merge commit and squash", "Add Furrow's public key ours to the Secret a/keys"},
		"another key than that of the forge": {merging.Repository{Keys: []string{forges}}, ours + " " + persons, ours, "fast-forward",
			"Add the public key that the forge signs with (forges) to the Secret a/keys, for merge commit and squash"},
		"a forge that has no key": {merging.Repository{Unsigned: true}, ours + " " + persons, ours, "fast-forward",
			"Give the forge a key to sign with, and add its public key to that Secret"},
		"a key that Furrow signed with before": {merging.Repository{}, former, ours, "",
			"Add Furrow's public key ours to the Secret a/keys; or add the public key that the forge signs with to the Secret a/keys, for merge commit and squash"},
		"Furrow signs nothing, and the forge's key is not there": {merging.Repository{Keys: []string{forges}}, persons, "", "",
			"Set spec.signing of the GitOpsRepo, and add its public key to the Secret a/keys; or add the public key that the forge signs with (forges) to the Secret a/keys, for merge commit and squash"},
		"Furrow signs nothing": {merging.Repository{}, forges, "", "merge commit and squash",
			"Set spec.signing of the GitOpsRepo, and add its public key to the Secret a/keys"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := c.repository
			r.Ways = ways
			v := merging.Verifier{Keys: strings.Fields(c.keys), Own: []string{ours, former}, Signing: c.signing}
			accepted, refused := r.Sort(v)
			if diff := cmp.Diff(c.wantAccepted, merging.Names(accepted)); diff != "" {
				t.Errorf("accepted (-want +got):\n%s", diff)
			}
			if len(accepted)+len(refused) != len(ways) {
				t.Errorf("%d accepted and %d refused of %d", len(accepted), len(refused), len(ways))
			}
			if diff := cmp.Diff(c.wantNext, r.Next(v, "a/keys", refused)); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyWhatWouldHelpIsAdvised(t *testing.T) {
	squash := []merging.Way{{Name: "squash", Signer: merging.ByForge}}
	cases := map[string]struct {
		repository    merging.Repository
		keys, signing string
		want          string
	}{
		"no way keeps Furrow's signature, so a key of Furrow does not help": {merging.Repository{Ways: squash}, "", "", "Add the public key that the forge signs with to the Secret a/keys, for squash"},
		"nor does it where the forge has no key":                            {merging.Repository{Ways: squash, Unsigned: true}, "", "", "Give the forge a key to sign with, and add its public key to that Secret"},
		"a key and a way that keeps its signature are missing": {merging.Repository{Ways: squash, Keeping: "fast-forward merges"}, "", "",
			"Set spec.signing of the GitOpsRepo, and add its public key to the Secret a/keys, and allow fast-forward merges in the repository, which keeps Furrow's signature; " +
				"or add the public key that the forge signs with to the Secret a/keys, for squash"},
		"nothing is signed by anybody": {merging.Repository{Ways: []merging.Way{{Name: "rebase", Signer: merging.ByNobody}}}, "", "ours", "Allow another way to merge"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := merging.Verifier{Keys: strings.Fields(c.keys), Own: []string{"ours"}, Signing: c.signing}
			_, refused := c.repository.Sort(v)
			if diff := cmp.Diff(c.want, c.repository.Next(v, "a/keys", refused)); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASwitchThatKeepsSignaturesIsNamedWhereItIsOff(t *testing.T) {
	r := merging.Repository{Ways: []merging.Way{{Name: "squash", Signer: merging.ByForge}}, Unsigned: true, Keeping: "fast-forward merges"}
	v := merging.Verifier{Keys: []string{"ours"}, Own: []string{"ours"}, Signing: "ours"}
	accepted, refused := r.Sort(v)
	if len(accepted) > 0 {
		t.Errorf("accepted: %v", accepted)
	}
	if got := r.Why(v, refused); !strings.Contains(got, "squash leaves no signature, because the forge has no key") {
		t.Errorf("why: %s", got)
	}
	if got := r.Next(v, "a/keys", refused); !strings.Contains(got, "llow fast-forward merges") {
		t.Errorf("next: %s", got)
	}
}
