// Package merging decides which ways to merge leave a signature that others accept.
//
// The newest commit of a branch is the one that the forge makes when it merges, and that is not always
// Furrow's: docs/signing.md has the table.
package merging

import (
	"fmt"
	"slices"
	"strings"
)

// Signer is whose signature the base branch ends with after a merge.
type Signer string

// The signers.
const (
	ByFurrow Signer = "Furrow"
	ByForge  Signer = "Forge"
	ByNobody Signer = "Nobody"
)

// Way is a way to merge.
type Way struct {
	// Name is the method's: "squash".
	Name   string `json:"name"`
	Signer Signer `json:"signer"`
	// Current reports whether Furrow's signature stays only on a branch that is up to date.
	Current bool `json:"current,omitempty"`
	// Squashes reports whether the commits of the branch do not reach base themselves.
	Squashes bool `json:"squashes,omitempty"`
}

// String returns the name for people.
func (w Way) String() string {
	switch w.Name {
	case "merge":
		return "merge commit"
	case "rebase-merge":
		return "rebase with a merge commit"
	}
	return w.Name
}

// Repository is how a forge lets people merge to a repository.
type Repository struct {
	// Ways are those that are allowed; none where any way of Git is.
	Ways []Way `json:"ways,omitempty"`
	// Keys are the fingerprints of the keys that the forge signs with; none if it does not say.
	Keys []string `json:"keys,omitempty"`
	// Unsigned reports whether the forge has no key to sign with.
	Unsigned bool `json:"unsigned,omitempty"`
	// Keeping is the setting that allows a way that keeps Furrow's signature; empty if there is none.
	Keeping string `json:"keeping,omitempty"`
}

// Verifier is who verifies the newest commit of a base branch.
type Verifier struct {
	// Keys are the fingerprints of the keys that the verifier accepts.
	Keys []string
	// Own are the fingerprints of all keys of Furrow, and Signing is the one that it signs with now;
	// empty if it does not sign.
	Own     []string
	Signing string
}

// hasOurs reports whether what Furrow signs is accepted.
func (v Verifier) hasOurs() bool { return v.Signing != "" && slices.Contains(v.Keys, v.Signing) }

// hasForges reports whether what the forge signs may be accepted: any key that is not Furrow's may be
// the forge's if the forge does not say which it is.
func (v Verifier) hasForges(r Repository) bool {
	return !r.Unsigned && slices.ContainsFunc(v.Keys, func(key string) bool {
		if len(r.Keys) > 0 {
			return slices.Contains(r.Keys, key)
		}
		return key != v.Signing && !slices.Contains(v.Own, key)
	})
}

// Sort returns which ways to merge leave a signature that a verifier may accept, and which do not.
func (r Repository) Sort(v Verifier) (accepted, refused []Way) {
	for _, w := range r.Ways {
		if w.Signer == ByFurrow && v.hasOurs() || w.Signer == ByForge && v.hasForges(r) {
			accepted = append(accepted, w)
		} else {
			refused = append(refused, w)
		}
	}
	return accepted, refused
}

// Why says, of ways that a verifier refuses, whose signature they leave: "squash is not signed, because
// the forge has no key".
func (r Repository) Why(v Verifier, refused []Way) string {
	var out []string
	for _, signer := range []Signer{ByForge, ByNobody, ByFurrow} {
		of := slices.DeleteFunc(slices.Clone(refused), func(w Way) bool { return w.Signer != signer })
		if len(of) == 0 {
			continue
		}
		why := "Furrow's key, which is not in the Secret"
		switch {
		case signer == ByNobody:
			why = "no signature"
		case signer == ByForge && r.Unsigned:
			why = "no signature, because the forge has no key to sign with"
		case signer == ByForge:
			why = "the forge's signature, whose key is not in the Secret, or none"
		case v.Signing == "":
			why = "no signature, because Furrow does not sign"
		}
		out = append(out, fmt.Sprintf("%s leaves %s", Names(of), why))
	}
	return strings.Join(out, "; ")
}

// Next says what makes more ways accepted, given that the keys are in a Secret.
func (r Repository) Next(v Verifier, secret string, refused []Way) string {
	var out []string
	if steps := r.keepOurs(v, secret); len(steps) > 0 {
		out = append(out, strings.Join(steps, ", and "))
	}
	signed := slices.DeleteFunc(slices.Clone(r.Ways), func(w Way) bool { return w.Signer != ByForge })
	switch {
	case len(signed) == 0 || v.hasForges(r):
	case r.Unsigned:
		out = append(out, "give the forge a key to sign with, and add its public key to that Secret")
	default:
		out = append(out, fmt.Sprintf("add the public key that the forge signs with%s to the Secret %s, for %s", keyList(r.Keys), secret, Names(signed)))
	}
	if len(out) == 0 {
		return "Allow another way to merge"
	}
	text := strings.Join(out, "; or ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// keepOurs lists the steps after which Furrow's signature reaches base, and is accepted; none where nothing
// is left to do, or no way to merge keeps it.
func (r Repository) keepOurs(v Verifier, secret string) (steps []string) {
	keeps := slices.ContainsFunc(r.Ways, func(w Way) bool { return w.Signer == ByFurrow })
	if !keeps && r.Keeping == "" {
		return nil
	}
	switch {
	case v.Signing == "":
		steps = append(steps, "set spec.signing of the GitOpsRepo", "add its public key to the Secret "+secret)
	case !v.hasOurs():
		steps = append(steps, fmt.Sprintf("add Furrow's public key %s to the Secret %s", v.Signing, secret))
	}
	if !keeps {
		steps = append(steps, "allow "+r.Keeping+" in the repository, which keeps Furrow's signature")
	}
	return steps
}

func keyList(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return " (" + strings.Join(keys, ", ") + ")"
}

// Names lists ways for people.
func Names(ways []Way) string {
	names := make([]string, len(ways))
	for i, w := range ways {
		names[i] = w.String()
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
