// Package signature signs commits, and finds out who signed one: by SSH keys or OpenPGP keys, in the
// formats of Git, so 'git verify-commit', Flux and forges read what Furrow signs.
//
//	private key ─▶ Signer ─▶ the header gpgsig of a commit
//	public keys ─▶ Keyring ─▶ Verdict of a commit
//
// Invariants:
//   - No private key and no passphrase appears in an error or in the String of any value.
//   - Equal commits get equal signatures where the kind of key allows it, as with ed25519.
//   - A verdict is about the bytes that Git stores, and never about what was parsed from them.
//
// All values are safe for several goroutines.
package signature

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// namespace is what SSH signatures of Git are made for.
const namespace = "git"

const (
	beginPGP        = "-----BEGIN PGP SIGNATURE-----"
	beginSSH        = "-----BEGIN SSH SIGNATURE-----"
	beginPublicPGP  = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	endPublicPGP    = "-----END PGP PUBLIC KEY BLOCK-----"
	beginPrivatePGP = "-----BEGIN PGP PRIVATE KEY BLOCK-----"
)

// Signer signs commits with one private key.
type Signer struct {
	key  Key
	sign func(payload []byte, when time.Time) ([]byte, error)
}

// Key returns the public key.
func (s *Signer) Key() Key { return s.key }

// String names the public key.
func (s *Signer) String() string { return "signer with " + s.key.String() }

// GoString shows no secret either, for all verbs of fmt.
func (s *Signer) GoString() string { return s.String() }

// Sign returns the signature of a commit: what follows "gpgsig" in its header. payload is the commit
// without it.
func (s *Signer) Sign(payload []byte, when time.Time) (string, error) {
	text, err := s.sign(payload, when)
	if err != nil {
		return "", fmt.Errorf("sign with %s: %w", s.key, err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}

// Generate makes an ed25519 key, in the format of ssh-keygen.
func Generate() (private []byte, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, "furrow")
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(block), nil
}

// NewSigner reads a private key: of ssh-keygen, or one that 'gpg --export-secret-keys --armor' has
// written. A key that cannot sign now is an error.
func NewSigner(private, passphrase []byte, now time.Time) (*Signer, error) {
	switch text := strings.TrimSpace(string(private)); {
	case text == "":
		return nil, errors.New("the private key is empty")
	case strings.HasPrefix(text, beginPrivatePGP):
		return newPGPSigner(text, passphrase, now)
	case strings.HasPrefix(text, beginPublicPGP), strings.HasPrefix(text, "ssh-"):
		return nil, errors.New("it is a public key, and signing takes the private one")
	}
	return newSSHSigner(private, passphrase)
}

func newSSHSigner(private, passphrase []byte) (*Signer, error) {
	signer, err := ssh.ParsePrivateKey(append(bytes.TrimSpace(private), '\n'))
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		if len(passphrase) == 0 {
			return nil, errors.New("the private key has a passphrase, and none is given")
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(append(bytes.TrimSpace(private), '\n'), passphrase); err != nil {
			return nil, errors.New("the passphrase does not open the private key")
		}
	}
	if err != nil { // not shown, because what was parsed may be part of a secret
		return nil, errors.New("it is neither a private key of ssh-keygen nor an armored OpenPGP one")
	}
	if signer.PublicKey().Type() != ssh.KeyAlgoED25519 {
		return nil, fmt.Errorf("it is a key of type %s, and Furrow signs with SSH keys of type %s only", signer.PublicKey().Type(), ssh.KeyAlgoED25519)
	}
	sign := func(payload []byte, _ time.Time) ([]byte, error) {
		made, err := sshsig.Sign(bytes.NewReader(payload), signer, sshsig.HashSHA512, namespace)
		if err != nil {
			return nil, err
		}
		return sshsig.Armor(made), nil
	}
	return &Signer{Key{ssh: signer.PublicKey()}, sign}, nil
}

func newPGPSigner(private string, passphrase []byte, now time.Time) (*Signer, error) {
	entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(private))
	if err != nil {
		return nil, errors.New("the OpenPGP private key cannot be read")
	}
	if len(entities) != 1 {
		return nil, fmt.Errorf("it holds %d OpenPGP keys, and signing takes one", len(entities))
	}
	entity := entities[0]
	key, ok := entity.SigningKey(now)
	if !ok || key.PrivateKey == nil {
		return nil, fmt.Errorf("the OpenPGP key %s cannot sign: it has expired, was revoked, or is not for signing", fingerprint(entity))
	}
	if key.PrivateKey.Encrypted {
		if len(passphrase) == 0 {
			return nil, errors.New("the private key has a passphrase, and none is given")
		}
		if err := key.PrivateKey.Decrypt(passphrase); err != nil {
			return nil, errors.New("the passphrase does not open the private key")
		}
	}
	fixed := false
	sign := func(payload []byte, when time.Time) ([]byte, error) {
		var out bytes.Buffer
		config := &packet.Config{Time: func() time.Time { return when }, NonDeterministicSignaturesViaNotation: &fixed}
		err := openpgp.ArmoredDetachSign(&out, entity, bytes.NewReader(payload), config)
		return out.Bytes(), err
	}
	return &Signer{Key{pgp: entity}, sign}, nil
}

// State says what is known of a commit's signature.
type State string

// The states of a signature.
const (
	// Good is a signature by a key of the ring.
	Good State = "Good"
	// Unsigned is none at all.
	Unsigned State = "Unsigned"
	// UnknownKey is one by a key that the ring does not have.
	UnknownKey State = "UnknownKey"
	// Expired is one by a key that was not valid at the time of the commit.
	Expired State = "Expired"
	// Bad is one that does not match the commit, or that cannot be read.
	Bad State = "Bad"
)

// Verdict says who signed a commit.
type Verdict struct {
	State State
	// Key is the id of the key, as far as the signature names it.
	Key string
	// Name is whom the ring says that the key belongs to; only of a Good one.
	Name string
}

// String says it in words that follow "the commit".
func (v Verdict) String() string {
	switch v.State {
	case Good:
		return "is signed with " + v.Key
	case Unsigned:
		return "is not signed"
	case UnknownKey:
		return "is signed with " + v.Key + ", which is not one of the keys that count"
	case Expired:
		return "is signed with " + v.Key + ", which was not valid at the time of the commit"
	}
	return "has a signature that does not match it, or cannot be read"
}

// Verify finds out who signed a commit: payload is the commit without its signature, when the time
// that its committer gives.
func (r Keyring) Verify(payload []byte, text string, when time.Time) Verdict {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return Verdict{State: Unsigned}
	case strings.Count(text, "-----BEGIN ") != 1:
		return Verdict{State: Bad}
	case strings.HasPrefix(text, beginSSH):
		return r.verifySSH(payload, text, when)
	case strings.HasPrefix(text, beginPGP):
		return r.verifyPGP(payload, text, when)
	}
	return Verdict{State: Bad}
}

func (r Keyring) verifySSH(payload []byte, text string, when time.Time) Verdict {
	signed, err := sshsig.Unarmor([]byte(text))
	if err != nil {
		return Verdict{State: Bad}
	}
	out := Verdict{State: UnknownKey, Key: ssh.FingerprintSHA256(signed.PublicKey)}
	for _, key := range r {
		if key.ssh == nil || !bytes.Equal(key.ssh.Marshal(), signed.PublicKey.Marshal()) {
			continue
		}
		if sshsig.Verify(bytes.NewReader(payload), signed, key.ssh, signed.HashAlgorithm, namespace) != nil {
			return Verdict{State: Bad, Key: out.Key}
		}
		if key.validAt(when) {
			return Verdict{State: Good, Key: out.Key, Name: key.Name()}
		}
		out.State = Expired
	}
	return out
}

func (r Keyring) verifyPGP(payload []byte, text string, when time.Time) Verdict {
	var entities openpgp.EntityList
	for _, key := range r {
		if key.pgp != nil {
			entities = append(entities, key.pgp)
		}
	}
	out := Verdict{State: Bad, Key: issuer(text)}
	config := &packet.Config{Time: func() time.Time { return when }}
	by, err := openpgp.CheckArmoredDetachedSignature(entities, bytes.NewReader(payload), strings.NewReader(text), config)
	switch {
	case err == nil:
		key := Key{pgp: by}
		return Verdict{State: Good, Key: key.ID(), Name: key.Name()}
	case isUnknownIssuer(err):
		out.State = UnknownKey
	case isExpired(err):
		out.State = Expired
	}
	return out
}
