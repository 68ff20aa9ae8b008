package forge

import (
	"fmt"
	"math"
	"time"
)

// perProposal is how many requests a proposal may cost: to open it, to say what it is opened with,
// and to show its gate.
const perProposal = 4

// Budget is how many requests a server still allows, by its last answer.
type Budget struct {
	// Limit is how many it allows from one reset to the next; zero if it does not say.
	Limit int64
	Left  int64
	// Reset is when it allows all of them again, by this machine's clock; zero if it does not say,
	// and then Left limits nothing.
	Reset time.Time
	// Pause is until when it wants no requests at all, and Writes until when none that change
	// something; zero if it did not ask for that.
	Pause, Writes time.Time
}

// Quota is for how many proposals there is a budget.
type Quota struct {
	Proposals int
	// Until is when there is room for more, and Why what limits it now, for people. They are zero
	// where nothing does.
	Until time.Time
	Why   string
}

// Failure returns the failure of something that there is no budget for.
func (r Quota) Failure(op, repository string, now time.Time) *Error {
	return &Error{Op: op, Repository: repository, Kind: FailedNetwork, Reason: ReasonLimited, Text: r.Why, Wait: r.Until.Sub(now)}
}

// Refusal means that nothing can be opened until a time, in the words of a server.
func Refusal(until time.Time, said string) Quota {
	return Quota{Until: until, Why: "waits until " + clock(until) + ": " + said}
}

// Unlimited is the quota where a server sets no limits.
var Unlimited = Quota{Proposals: math.MaxInt}

// reserve is what no proposals are opened with: a pass that could not even list them would know of
// nothing that people do until the reset.
func (b Budget) reserve() int64 { return max(1, b.Limit/10) }

// Quota returns for how many proposals there is a budget now. It is one at least where there is more
// than the reserve: if that does not suffice, the rest of it comes after the reset.
func (b Budget) Quota(now time.Time) Quota {
	pause := b.Pause
	if pause.Before(b.Writes) {
		pause = b.Writes
	}
	spare := b.Left - b.reserve()
	switch {
	case now.Before(pause):
		return Quota{0, pause, "waits until " + clock(pause) + ", as the server asked"}
	case !now.Before(b.Reset): // or without one
		return Unlimited
	case spare > 0:
		return Quota{int(max(1, spare/perProposal)), b.Reset, b.why()}
	}
	return Quota{0, b.Reset, b.why()}
}

// Closed returns until when the server gets no requests at all; zero if it may be asked.
func (b Budget) Closed(now time.Time) time.Time {
	switch {
	case now.Before(b.Pause):
		return b.Pause
	case b.Left <= 0 && now.Before(b.Reset):
		return b.Reset
	}
	return time.Time{}
}

// why says what limits proposals. It has no number that changes with each request.
func (b Budget) why() string {
	of := ""
	if b.Limit > 0 {
		of = fmt.Sprintf(" of the %d", b.Limit)
	}
	return fmt.Sprintf("waits until %s, because the last %d%s requests that the server allows until then are kept for reading", clock(b.Reset), b.reserve(), of)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
