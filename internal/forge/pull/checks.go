package pull

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/forge"
)

// maxNamed is how many checks a message names.
const maxNamed = 3

// Checks reads what the checks of the server say of a proposal. Furrow's own gate does not count: it
// says what Furrow knows already. Without any other check nothing was checked, or not yet. Where others
// may push to Furrow's branches, checks that passed are not enough.
func (f *Forge) Checks(ctx context.Context, p forge.Proposal) (forge.Checks, error) {
	at, open := f.seen(p.Branch)
	switch {
	case !open || at.Head != p.Head:
		return forge.Checks{State: forge.ChecksPending, Why: "the server has still to notice its last commit"}, nil
	case at.Draft:
		return forge.Checks{State: forge.ChecksUnknown, Why: "it is a draft"}, nil
	}
	if checks, known, err := f.queueChecks(ctx, at.Request); known {
		return checks, err
	}
	checks, err := f.server.Checks(ctx, p.Head)
	if err != nil {
		return forge.Checks{}, err
	}
	judged := judgeChecks(checks)
	if judged.State != forge.ChecksPassed {
		return judged, nil
	}
	who, err := f.unprotected(ctx)
	if err == nil && who != "" {
		judged = forge.Checks{State: forge.ChecksUnprotected, Why: fmt.Sprintf("%s can push to furrow/**, and spec.signing of the GitOpsRepo is not set", who)}
	}
	return judged, err
}

// judgeChecks sums checks up.
func judgeChecks(checks []Check) forge.Checks {
	var failed, pending []string
	others := 0
	for _, c := range checks {
		switch {
		case c.Name == gateContext:
			continue
		case c.State == CheckFailed:
			failed = append(failed, c.Name)
		case c.State != CheckPassed:
			pending = append(pending, c.Name)
		}
		others++
	}
	switch {
	case len(failed) > 0:
		return forge.Checks{State: forge.ChecksFailed, Why: named(failed) + " failed"}
	case len(pending) > 0:
		return forge.Checks{State: forge.ChecksPending, Why: named(pending) + " not done"}
	case others == 0:
		return forge.Checks{State: forge.ChecksPending, Why: "no check has begun"}
	}
	return forge.Checks{State: forge.ChecksPassed}
}

// named names some checks.
func named(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
