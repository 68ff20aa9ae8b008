package health

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/merging"
)

// WantRoot is what the root of a directory has to be.
type WantRoot struct {
	Cluster string
	// Path is the directory in the GitOps repository.
	Path string
	// Source is the source object that tiers refer to, as namespace/name; empty where that is not
	// known.
	Source string
	// URL and Branch are those of the GitOps repository.
	URL, Branch string
	// Repo is its name.
	Repo string
	// SigningKey is the fingerprint of the key that Furrow signs with; empty if it does not. OwnKeys also
	// has those that it signed with before.
	SigningKey string
	OwnKeys    []string
	// Merging says how the forge of the repository lets people merge.
	Merging merging.Repository
}

// Verifies reports whether a root has a source that verifies the newest commit, with keys that are known.
func (r Root) Verifies() bool {
	return r.Known && (r.Verify.Mode == "HEAD" || r.Verify.Mode == "head") && r.Verify.Unknown == ""
}

// Verifier is who verifies what is merged.
func (r Root) Verifier(w WantRoot) merging.Verifier {
	return merging.Verifier{Keys: strings.Fields(r.Verify.Keys), Own: w.OwnKeys, Signing: w.SigningKey}
}
