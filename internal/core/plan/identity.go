package plan

import (
	"fmt"
	"strings"
)

// Identity names the control plane that plans belong to. What belongs to another owner, or to the same one of
// another origin, is never overwritten or removed.
type Identity struct {
	// Owner is <control-plane id>/<environment>.
	Owner string
	// Origin is the digest of where the control plane is kept.
	Origin string
}

// Identity is whose plan it is.
func (p *Plan) Identity() Identity { return Identity{p.Owner, p.Origin} }

// originDigits is how many digits of an origin people see.
const originDigits = 12

// ShortOrigin is the origin as people see and write it.
func (i Identity) ShortOrigin() string {
	short := strings.TrimPrefix(i.Origin, "sha256:")
	return short[:min(len(short), originDigits)]
}

// String names the control plane for people.
func (i Identity) String() string {
	if i.Origin == "" {
		return fmt.Sprintf("%q", i.Owner)
	}
	return fmt.Sprintf("%q of origin %s", i.Owner, i.ShortOrigin())
}

// ErrForeign says that a seed's plan in a GitOps repository belongs to another control plane, and what to do.
func ErrForeign(seed, repo string, of, this Identity) error {
	where := ""
	if repo != "" {
		where = fmt.Sprintf(" in GitOps repository %q", repo)
	}
	return fmt.Errorf("seed %q: its plan%s belongs to control plane %s, and this is %s. If that one was moved or renamed to this one, take its plans over with 'furrow adopt'; "+
		"if not, name this control plane by a ControlPlane document, and give the seed another name", seed, where, of, this)
}
