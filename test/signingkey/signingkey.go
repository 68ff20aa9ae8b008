// Package signingkey makes keys that sign commits, for tests.
package signingkey

import (
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git/signature"
)

// Key is a new SSH key.
type Key struct {
	Private []byte
	// Public is a line, as in a .pub file.
	Public string
	Signer *signature.Signer
}

// New makes a key.
func New(t testing.TB) Key {
	t.Helper()
	private, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signature.NewSigner(private, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	public, err := signer.Key().Public()
	if err != nil {
		t.Fatal(err)
	}
	return Key{private, public, signer}
}
