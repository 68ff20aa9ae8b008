package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// The files of a set of credentials that has a key to sign with.
const (
	SigningKeyFile    = "signing.key"
	SigningPublicFile = "signing.pub"
)

// SigningSet returns the name of the set that has the key by which a repository's commits are signed;
// empty if they are not signed.
func SigningSet(spec v1alpha1.GitOpsRepoSpec) string {
	if spec.Signing == nil {
		return ""
	}
	return cmp.Or(spec.Signing.Credentials, spec.Credentials)
}

// keys returns what commits of a repository are signed with, and whose count. A person's requests are
// signed with that person's key. Without a private key, all that is read can still be judged by the
// public ones.
func (s *Session) keys(spec v1alpha1.GitOpsRepoSpec) (keys git.Keys, err error) {
	if spec.Signing == nil {
		return git.Keys{}, nil
	}
	unusable := manifest.Problem{Reason: v1alpha1.ReasonSigningKeyUnusable, Next: "Correct it, or replace the key"}
	if keys.Own, err = publicKeys("spec.signing.publicKeys", spec.Signing.PublicKeys, unusable); err != nil {
		return git.Keys{}, err
	}
	if keys.Requesters, err = publicKeys("spec.signing.requesters", spec.Signing.Requesters, unusable); err != nil {
		return git.Keys{}, err
	}
	if s.options.SignWith != nil && len(keys.Own) > 0 {
		keys.Signer = s.options.SignWith
		return keys, nil
	}
	signer, err := s.signer(SigningSet(spec), spec.Signing.Create == v1alpha1.CreateIfMissing, git.Remote{URL: catalog.LongURL(s.resolve(spec.URL))})
	if err != nil {
		return keys, manifest.About(manifest.Problem{Field: "spec.signing"}, err)
	}
	keys.Own = append(signature.Keyring{signer.Key()}, keys.Own...)
	if keys.Signer = signer; s.options.SignWith != nil {
		keys.Signer = s.options.SignWith
	}
	return keys, nil
}

// publicKeys reads the keys of a field that lists them. A key that cannot be read is the problem, with the
// item of the list.
func publicKeys(field string, texts []string, unreadable manifest.Problem) (signature.Keyring, error) {
	var ring signature.Keyring
	for i, text := range texts {
		keys, err := signature.Parse(text)
		if err != nil {
			unreadable.Field = fmt.Sprintf("%s[%d]", field, i)
			unreadable.Message = fmt.Sprintf("%s: %v", unreadable.Field, err)
			return nil, unreadable
		}
		ring = append(ring, keys...)
	}
	return ring, nil
}

// signer reads the private key of a set, which must be for the repository: its signature is as good as
// write access.
func (s *Session) signer(name string, create bool, remote git.Remote) (*signature.Signer, error) {
	missing := func(message string) error {
		return manifest.Problem{Reason: v1alpha1.ReasonSigningKeyMissing, Message: message, Next: "Add the file, or the key of the Secret, " + SigningKeyFile + ": 'ssh-keygen -t ed25519 -N \"\" -f " + SigningKeyFile + "' makes one"}
	}
	if name == "" || s.options.Credentials == nil {
		return nil, missing("commits must be signed, and no set of credentials is given that has a key")
	}
	if err := catalog.CheckCredentials(name); err != nil {
		return nil, err
	}
	set, err := s.options.Credentials.Set(name)
	if maker, can := s.options.Credentials.(KeyMaker); errors.Is(err, fs.ErrNotExist) && create && can {
		if err = maker.MakeKey(name, remote.String()); err != nil {
			return nil, err
		}
		set, err = s.options.Credentials.Set(name)
	}
	switch {
	case errors.Is(err, ErrPublic), err == nil && len(set.SigningKey) == 0:
		return nil, missing(fmt.Sprintf("the credentials %q have no %s", name, SigningKeyFile))
	case err != nil:
		return nil, missing(fmt.Sprintf("there are no credentials %q with a key to sign with: %v", name, err))
	}
	if err := s.checkBound(set, name, remote); err != nil {
		return nil, err
	}
	signer, err := signature.NewSigner(set.SigningKey, set.SigningPassphrase, s.options.Now())
	if err != nil {
		return nil, manifest.Problem{Reason: v1alpha1.ReasonSigningKeyUnusable, Message: fmt.Sprintf("the credentials %q: %s: %v", name, SigningKeyFile, err), Next: "Correct it, or replace the key"}
	}
	return signer, nil
}
