package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/test/signingkey"
)

func TestTheControllerMakesAKeyOnceAndChangesNoSecret(t *testing.T) {
	const url = "https://git.example.com/acme/fleet"
	r := reader(t, secret("other", map[string]string{"token": "token-of-a-test", "url": url}))
	maker, ok := fleet.Options(t.Context(), r, r, namespace, fleet.Location{}).Credentials.(controlplane.KeyMaker)
	if !ok {
		t.Fatal("the controller makes no keys")
	}
	var keys []string
	for range 2 {
		if err := maker.MakeKey("signing", url); err != nil {
			t.Fatal(err)
		}
		data, err := fleet.Secret(t.Context(), r, namespace, "signing")
		if err != nil {
			t.Fatal(err)
		}
		signer, err := signature.NewSigner(data[controlplane.SigningKeyFile], nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ring, err := signature.Parse(string(data[controlplane.SigningPublicFile]))
		if err != nil || ring[0].ID() != signer.Key().ID() || string(data["url"]) != url {
			t.Errorf("the Secret has %v (%v) for %s, want the public key of its private one", ring.IDs(), err, data["url"])
		}
		keys = append(keys, signer.Key().ID())
	}
	if keys[0] != keys[1] {
		t.Error("a second key replaced the first one")
	}
	if err := maker.MakeKey("other", url); err != nil {
		t.Fatal(err)
	}
	if data, _ := fleet.Secret(t.Context(), r, namespace, "other"); len(data) != 2 {
		t.Errorf("a Secret that was there has now %d keys", len(data))
	}
}

func TestTheKeysOfAGitRepositoryJudgeTheControlPlane(t *testing.T) {
	key := signingkey.New(t)
	r := reader(t, secret("keys", map[string]string{"ann.sshpub": key.Public}), secret("broken", map[string]string{"ann.asc": "hello"}))
	at := fleet.Location{VerifySecret: "keys"}
	if err := at.ReadKeys(t.Context(), r, namespace); err != nil {
		t.Fatal(err)
	}
	if ring := fleet.Options(t.Context(), r, nil, namespace, at).VerifyWith; !ring.Has(key.Signer.Key().ID()) {
		t.Errorf("commits are verified with %v", ring.IDs())
	}
	for name, want := range map[string]string{"none": "there is no Secret fleet/none", "broken": "ann.asc"} {
		at := fleet.Location{VerifySecret: name}
		if err := at.ReadKeys(t.Context(), r, namespace); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		} else if name == "broken" && manifest.ReasonOf(err) != v1alpha1.ReasonGitRepositoryUnfit {
			t.Errorf("%s: the reason is %s", name, manifest.ReasonOf(err))
		}
	}
}
