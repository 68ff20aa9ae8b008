package pull

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge"
)

// Ready returns why nothing may be pushed. It also finds out who else may push to Furrow's branches and
// whether base takes only signed commits, for Warnings; not to know that holds nothing.
func (f *Forge) Ready(ctx context.Context) error {
	access, err := f.server.Access(ctx)
	if err != nil {
		return err
	}
	if err := access.refusal(f.server.String()); err != nil {
		return err
	}
	_, _ = f.unprotected(ctx)
	_, _ = f.Requires(ctx)
	return nil
}

// unprotected says who may pass as Furrow; empty if nobody may, or if the server does not say.
func (f *Forge) unprotected(ctx context.Context) (who string, err error) {
	if f.options.Signed {
		return "", nil
	}
	f.asking.Lock()
	defer f.asking.Unlock()
	p, err := f.pushers.get(ctx, f.clock.Now(), requiredTime, f.server.Pushers)
	if err != nil || p.State != forge.PushersEverybody {
		return "", err
	}
	return p.Who, nil
}

// unprotectedWarning says that others may push to Furrow's branches, as far as the server was asked.
func (f *Forge) unprotectedWarning() manifest.Problems {
	f.asking.Lock()
	defer f.asking.Unlock()
	if f.options.Signed || f.pushers.of.State != forge.PushersEverybody {
		return nil
	}
	return manifest.Problems{{
		Reason:  "BranchesUnprotected",
		Field:   "spec.signing",
		Message: fmt.Sprintf("%s can push to the branches furrow/** of %s, and Furrow's commits are not signed", f.pushers.of.Who, f.server),
		Next:    "Set spec.signing, or restrict who may push to furrow/**",
	}}
}

// unsignedWarning says that base takes only signed commits and Furrow does not sign, as far as the server
// was asked.
func (f *Forge) unsignedWarning() manifest.Problems {
	f.asking.Lock()
	defer f.asking.Unlock()
	if f.options.Signed || !f.required.of.Signed && !f.pushers.of.SignedBase {
		return nil
	}
	return manifest.Problems{{
		Reason:  "BaseTakesSignedOnly",
		Field:   "spec.signing",
		Message: fmt.Sprintf("the branch %s of %s takes only signed commits, and Furrow's commits are not signed: its proposals cannot be merged", f.base, f.server),
		Next:    "Set spec.signing, and add its public key to the account that Furrow uses",
	}}
}

// refusal returns why nothing may be pushed to a repository; nil if something may.
func (a Access) refusal(repository string) error {
	e := &forge.Error{Op: "push branches", Repository: repository}
	switch {
	case a.Archived:
		e.Kind, e.Text = forge.FailedOther, "the repository is archived; unarchive it, or remove its GitOpsRepo"
	case len(a.Missing) > 0:
		var names, next []string
		for _, m := range a.Missing {
			names = append(names, m.Name)
			if !slices.Contains(next, m.Next) {
				next = append(next, m.Next)
			}
		}
		e.Kind, e.Text = forge.FailedAuth, "the credentials lack "+strings.Join(names, " and ")+"; "+strings.Join(next, "; ")
	default:
		return nil
	}
	return e
}
