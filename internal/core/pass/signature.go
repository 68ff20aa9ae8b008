package pass

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
)

// Signature says who signed a commit.
type Signature struct {
	// State is the verdict, in the words of internal/git/signature.
	State string `json:"state"`
	// Key is the key's fingerprint, as far as the signature names it.
	Key string `json:"key,omitempty"`
	// Name is whose key it is, if that is known.
	Name string `json:"name,omitempty"`
}

// Good reports whether the signature matches the commit and a key that may count.
func (s Signature) Good() bool { return s.State == "Good" }

// Request is what a person asks for with the commit of a marker.
type Request struct {
	// Of is the commit that it is about.
	Of layout.Hash `json:"of"`
	// By is its author.
	By string `json:"by,omitempty"`
}

// IsOwn reports whether the commit of a branch may be Furrow's: one that is signed with a key of its
// own, or any where it has no keys.
func (r *Repo) IsOwn(branch string) bool {
	return len(r.OwnKeys) == 0 || r.Signed[branch].Good() && slices.Contains(r.OwnKeys, r.Signed[branch].Key)
}

// Asked returns the commit about which a marker asks for something; zero if it asks for nothing that
// counts. Without keys, a marker may be at that commit itself.
func (r *Repo) Asked(marker string) layout.Hash {
	request, made := r.Requests[marker]
	switch {
	case len(r.OwnKeys) > 0 && (!made || !r.Signed[marker].Good()):
		return layout.Hash{}
	case made:
		return request.Of
	}
	return r.Refs[marker]
}

// AskedBy returns who asks with a marker: whose key has signed the request or, where that is Furrow's,
// the author; empty if that is not known.
func (r *Repo) AskedBy(marker string) string {
	if r.Asked(marker).IsZero() {
		return ""
	}
	if name := r.Signed[marker].Name; name != "" && !r.IsOwn(marker) {
		return name
	}
	return r.Requests[marker].By
}
