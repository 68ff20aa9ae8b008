package pass

import (
	"slices"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
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
	// By is its author, and At when it was made.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
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

// Unnamed is the author of a request where nobody says a name.
const Unnamed = "a person"

// request returns who asks with a marker, and when; nil where that is not known.
func (r *Repo) request(marker string) *release.Request {
	if by := r.AskedBy(marker); by != "" && by != Unnamed {
		return &release.Request{By: by, At: r.Requests[marker].At}
	}
	return nil
}

// AbandonedBy returns who gave a cluster up; nil where that is not known.
func (f *Facts) AbandonedBy(cluster string) *release.Request {
	for _, r := range f.Repos {
		if by := r.request(layout.AbandonBranch(r.Base, MarkerScope(f.Self), cluster)); by != nil {
			return by
		}
	}
	return nil
}

// ConfirmedBy returns who let go what the deletion guard held of a seed; nil where nobody did, or it is
// not known who.
func (f *Facts) ConfirmedBy(s *Seed) *release.Request {
	for _, marker := range []func(base, seed string) string{layout.ConfirmBranch, layout.ConfirmLeavingBranch} {
		if f.Marked(s.previous, marker) {
			home := f.Repos[s.previous.Home()]
			return home.request(marker(home.Base, s.Name))
		}
	}
	return nil
}
