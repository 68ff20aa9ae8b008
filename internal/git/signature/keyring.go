package signature

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"
)

// Key is one public key.
type Key struct {
	ssh ssh.PublicKey
	pgp *openpgp.Entity
	// name is whom an SSH key belongs to, as the line says that has it.
	name string
	// after and before bound the time in which an SSH key counts; zero for no bound.
	after, before time.Time
}

// ID returns the fingerprint, as ssh-keygen and gpg print it.
func (k Key) ID() string {
	if k.pgp != nil {
		return fingerprint(k.pgp)
	}
	return ssh.FingerprintSHA256(k.ssh)
}

// Name returns whom the key belongs to; empty where nothing says that.
func (k Key) Name() string {
	if k.pgp == nil {
		return k.name
	}
	if identity := k.pgp.PrimaryIdentity(); identity != nil && identity.UserId != nil {
		return cmp.Or(identity.UserId.Email, identity.Name)
	}
	return ""
}

// IsSSH reports whether the key is an SSH key, and not an OpenPGP one.
func (k Key) IsSSH() bool { return k.ssh != nil }

// String names the key in messages.
func (k Key) String() string {
	if k.pgp != nil {
		return "the OpenPGP key " + k.ID()
	}
	return "the SSH key " + k.ID()
}

// Public returns the public key as people pass it on: a line of authorized_keys, or an armored block.
func (k Key) Public() (string, error) {
	if k.ssh != nil {
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.ssh))), nil
	}
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(k.pgp.Serialize(w), w.Close())
	}
	return out.String(), err
}

// validAt reports whether an SSH key counts at a time.
func (k Key) validAt(when time.Time) bool {
	return (k.after.IsZero() || !when.Before(k.after)) && (k.before.IsZero() || when.Before(k.before))
}

func fingerprint(e *openpgp.Entity) string {
	return strings.ToUpper(hex.EncodeToString(e.PrimaryKey.Fingerprint))
}

// Keyring is a list of public keys.
type Keyring []Key

// IDs returns the fingerprints of the keys, sorted.
func (r Keyring) IDs() []string {
	out := make([]string, len(r))
	for i, key := range r {
		out[i] = key.ID()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Has reports whether the ring has a key with that fingerprint.
func (r Keyring) Has(id string) bool {
	return slices.ContainsFunc(r, func(k Key) bool { return k.ID() == id })
}

// Parse reads public keys: lines of an allowed signers file of Git, lines of authorized_keys, and
// armored OpenPGP keys, in any mixture. Errors name the line.
func Parse(text string) (Keyring, error) {
	var ring Keyring
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line, at := strings.TrimSpace(lines[i]), i+1
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.Contains(line, "PRIVATE KEY"):
			return nil, fmt.Errorf("line %d: it is a private key, and it takes the public one. If others can read it, make a new key", at)
		case line == beginPublicPGP:
			end := slices.IndexFunc(lines[i:], func(l string) bool { return strings.TrimSpace(l) == endPublicPGP })
			if end < 0 {
				return nil, fmt.Errorf("line %d: the OpenPGP key has no end", at)
			}
			entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(dedent(lines[i : i+end+1])))
			if err != nil || len(entities) == 0 {
				return nil, fmt.Errorf("line %d: the OpenPGP key cannot be read", at)
			}
			for _, e := range entities {
				ring = append(ring, Key{pgp: e})
			}
			i += end
		default:
			key, err := parseLine(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", at, err)
			}
			if key.ssh != nil {
				ring = append(ring, key)
			}
		}
	}
	if len(ring) == 0 {
		return nil, errors.New("it holds no public key that signs commits")
	}
	return ring, nil
}

// dedent joins lines without the blanks around them, which YAML may leave.
func dedent(lines []string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSpace(line)
	}
	return strings.Join(out, "\n") + "\n"
}

// isKeyType reports whether a word is the type of an SSH key that may sign commits.
func isKeyType(word string) bool {
	return slices.Contains([]string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoRSA,
		ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256,
	}, word)
}

const lineForm = "write <name> <type> <key>, as in \"ann@example.com ssh-ed25519 AAAA…\""

// parseLine reads a line of an allowed signers file or of authorized_keys. A key that the line keeps
// for something other than Git has no key.
func parseLine(line string) (Key, error) {
	words := fields(line)
	at := slices.IndexFunc(words, isKeyType)
	if at < 0 || at > 2 || len(words) < at+2 {
		return Key{}, errors.New("it is not a public key: " + lineForm)
	}
	public, comment, _, rest, err := ssh.ParseAuthorizedKey([]byte(strings.Join(words[at:], " ")))
	if err != nil || len(rest) > 0 {
		return Key{}, errors.New("the key cannot be read: " + lineForm)
	}
	if public.Type() != words[at] {
		return Key{}, fmt.Errorf("the key is of type %s, and the line says %s", public.Type(), words[at])
	}
	key := Key{ssh: public, name: comment}
	if at > 0 {
		key.name = strings.Trim(words[0], `"`)
	}
	if at < 2 {
		return key, nil
	}
	for _, option := range splitQuoted(words[1], ',') {
		name, value, _ := strings.Cut(option, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "namespaces":
			if !slices.ContainsFunc(strings.Split(value, ","), func(p string) bool { ok, _ := path.Match(p, namespace); return ok }) {
				return Key{}, nil
			}
		case "valid-after":
			key.after, err = parseTime(value)
		case "valid-before":
			key.before, err = parseTime(value)
		case "cert-authority":
			err = errors.New("certificate authorities are not supported: name the keys themselves")
		default:
			err = fmt.Errorf("the option %q is unknown", name)
		}
		if err != nil {
			return Key{}, err
		}
	}
	return key, nil
}

// parseTime reads a time as ssh-keygen does, but always in UTC: YYYYMMDD[HHMM[SS]][Z].
func parseTime(value string) (time.Time, error) {
	digits := strings.TrimSuffix(value, "Z")
	for _, form := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(form) == len(digits) {
			if when, err := time.Parse(form, digits); err == nil {
				return when, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write YYYYMMDD or YYYYMMDDHHMMSS", value)
}

// fields splits a line at blanks outside of quotes.
func fields(line string) []string {
	return slices.DeleteFunc(splitQuoted(strings.ReplaceAll(line, "\t", " "), ' '), func(s string) bool { return s == "" })
}

func splitQuoted(text string, at rune) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == at && !quoted
	})
}

// issuer returns what a signature says about its key; empty where it does not.
func issuer(text string) string {
	block, err := armor.Decode(strings.NewReader(text))
	if err != nil {
		return ""
	}
	p, err := packet.NewReader(io.LimitReader(block.Body, 1<<16)).Next()
	sig, ok := p.(*packet.Signature)
	switch {
	case err != nil || !ok:
		return ""
	case len(sig.IssuerFingerprint) > 0:
		return strings.ToUpper(hex.EncodeToString(sig.IssuerFingerprint))
	case sig.IssuerKeyId != nil:
		return fmt.Sprintf("%016X", *sig.IssuerKeyId)
	}
	return ""
}

func isUnknownIssuer(err error) bool { return errors.Is(err, pgperrors.ErrUnknownIssuer) }

func isExpired(err error) bool {
	return errors.Is(err, pgperrors.ErrKeyExpired) || errors.Is(err, pgperrors.ErrSignatureExpired)
}
