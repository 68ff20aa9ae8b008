package git

import (
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// Keys sign what is committed through a mirror, and say whose commits count. The zero value signs
// nothing, and every commit counts.
type Keys struct {
	// Signer signs; nil to leave commits unsigned.
	Signer *signature.Signer
	// Own are the keys whose commits are Furrow's own; empty if every commit may be.
	Own signature.Keyring
	// Requesters are the keys of people whose requests count.
	Requesters signature.Keyring
}

// Identified is a commit as far as its signature says whose it is.
type Identified struct {
	// Own reports whether it may be Furrow's own: it is signed with a key of Furrow's, or there are
	// no such keys.
	Own bool
	// Requester is the name of the person whose key has signed it; empty for anybody else.
	Requester string
	signature.Verdict
}

// identities remembers what is known of commits, which never change.
type identities struct {
	mu sync.Mutex
	of map[Hash]Identified
}

// maxIdentities bounds what is remembered; commits that are asked for are few, and asked for again
// in every pass.
const maxIdentities = 100_000

// SetKeys sets the keys of the mirror, before it is used.
func (m *Mirror) SetKeys(keys Keys) {
	m.keys = keys
	if keys.Signer == nil {
		m.SignWith(nil)
		return
	}
	m.SignWith(func(commit []byte, when time.Time) ([]byte, error) {
		text, err := keys.Signer.Sign(commit, when)
		if err != nil {
			return nil, err
		}
		return signature.Add(commit, text)
	})
}

// Keys returns the keys of the mirror.
func (m *Mirror) Keys() Keys { return m.keys }

// Identify finds out whose a commit is. Without keys it reads nothing.
func (m *Mirror) Identify(commit Hash) (Identified, error) {
	if len(m.keys.Own) == 0 {
		return Identified{Own: true}, nil
	}
	m.identities.mu.Lock()
	known, ok := m.identities.of[commit]
	m.identities.mu.Unlock()
	if ok {
		return known, nil
	}
	verdict, err := Verify(m.Objects, commit, append(m.keys.Own[:len(m.keys.Own):len(m.keys.Own)], m.keys.Requesters...))
	if err != nil {
		return Identified{}, err
	}
	found := Identified{Verdict: verdict}
	if verdict.State == signature.Good {
		if found.Own = m.keys.Own.Has(verdict.Key); !found.Own {
			found.Requester = verdict.Name
		}
	}
	m.identities.mu.Lock()
	defer m.identities.mu.Unlock()
	if m.identities.of == nil || len(m.identities.of) >= maxIdentities {
		m.identities.of = map[Hash]Identified{}
	}
	m.identities.of[commit] = found
	return found, nil
}

// Verify finds out with which key of a ring a commit is signed.
func Verify(o *odb.Objects, commit Hash, ring signature.Keyring) (signature.Verdict, error) {
	info, err := o.Commit(commit)
	if err != nil {
		return signature.Verdict{}, err
	}
	raw, err := o.RawCommit(commit)
	if err != nil {
		return signature.Verdict{}, err
	}
	payload, text := signature.Split(raw)
	return ring.Verify(payload, text, info.Committer.When), nil
}
