// Package gitea is the forge for Gitea and Forgejo: a proposal is a pull request
// of its tier's branch to the base branch of the same repository.
//
// What a branch holds is read from the mirror, as on plain Git. The pull request
// adds whether it is open, where it is, and what Gitea thinks of merging it. People
// may retitle it, rewrite it, label, lock or mark it as a draft: nothing but its
// branch, its base branch and its state counts. One from a fork, or to another
// base branch, is not looked at; one that a person opened from our branch to our
// base is taken over, for Gitea allows no second one.
//
// # What is asked of the server
//
// All open pull requests to base are listed once a pass, page by page, those of
// others too: Gitea cannot filter by head branch, and a filter by author or label
// would miss what a person opened or relabelled. Pages overlap by a row, and a list
// that shrank in between is read again.
//
// Closed ones are kept in an index by branch and Wants, since there is no good
// question about one branch: GET pulls/{base}/{head} gives the oldest of several.
// The first question reads the closed pull requests of our own user, newest first;
// from then on only what was updated since is read, by anybody, and only where it
// can have changed an answer: base has moved, an open one of ours is gone from the
// list, or we did something ourselves. So a tier that stays Rejected costs nothing.
// What another user's token had opened before the process started, and a person
// rejected, is not known.
//
// # What a closed pull request means
//
// Furrow closes one by the same request that marks its text Furrow-Superseded;
// Gitea writes the text first. All others that are closed unmerged were rejected by
// a person, by the button, through Furrow, or by deleting the branch, unless base
// has their commit: then it was pushed there. Which Wants a closed one had is read
// from its text or, where a person took that out, from its last commit. Where Furrow
// was killed between pushing that commit and writing the text, people saw both, and
// what they rejected are both.
//
// Gitea closes what lost its branch a moment later; until then it counts as
// rejected, too. In that moment it also closes what was just opened from a new
// branch of the same name. The timeline shows it, and it does not count as a rejection.
//
// # Conflicts
//
// Gitea reports a conflict as it reports that it has not checked yet, and
// what nobody touches is checked only when it is read. So Gitea's view counts
// where it stays for some seconds, by its own clock, after it was made to look, at
// the same commits. A wrong guess costs one graft onto the tip of base, where
// nothing conflicts.
//
// # A server that does not answer
//
// A request is given up after a while. The next ones then fail at once, for some
// seconds, with the same failure; the pass after that asks again.
//
// Invariants: nothing is ever deleted or closed but what is ours; an open pull
// request of a branch is never joined by a second one; no error holds a secret.
// Where two processes open one each in the same moment, which Gitea does not
// prevent, the older one is closed when the gate is shown next.
//
// Concurrency: a Forge may be used by several goroutines, and by several processes
// on one repository.
//
// The contract suite runs against Gitea 1.26. Forgejo has the same API where it is
// used; filters that a server does not know are applied here again.
package gitea

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// Options say where a repository is, and how to be let in.
type Options struct {
	// URL is that of the Git repository: https://host[:port][/prefix]/owner/name[.git].
	URL string
	// Token is an access token; or else Username and Password.
	Token              string `json:"-"`
	Username, Password string `json:"-"`
	// CABundle holds PEM certificates that are trusted besides the system's.
	CABundle []byte
	// Transport carries the requests; nil for one of its own that trusts CABundle.
	Transport http.RoundTripper
	// Clock is the real one where it is nil.
	Clock backoff.Clock
	// Observe may wrap the transport, to count what is asked and answered.
	Observe func(http.RoundTripper) http.RoundTripper
}

// Forge is a repository on a Gitea or Forgejo server.
type Forge struct {
	api     *api
	mirror  forge.Fetcher
	base    string
	history *forge.History
	reader  *forge.Reader

	label labels
	// reading is held while the index is brought up to date, and before mu.
	reading sync.Mutex

	mu sync.Mutex
	// open are the open proposals that were seen last, by branch.
	open map[string]row
	// shown is what the gate was last posted as, by commit.
	shown map[git.Hash]gate
	// doubts are the open proposals that Gitea would not merge, by number.
	doubts map[int64]doubt
	// settled are those that were open when base had all of them, by number.
	settled map[int64]bool
	closed  index
	// lost are merges that base had not in its history, with where it was then.
	lost map[git.Hash]git.Hash
	// reasons is active while reasons of rejections are not asked for.
	reasons backoff.Cooldown
	// clock is the server's, as it was in its last answer.
	clock time.Time
}

var _ forge.Forge = (*Forge)(nil)

// New makes the forge of a repository, for proposals to its branch base. It asks
// the server nothing.
func New(mirror forge.Fetcher, base string, o Options) (*Forge, error) {
	a, err := newAPI(o)
	if err != nil {
		return nil, err
	}
	h := forge.NewHistory(mirror)
	return &Forge{
		api: a, mirror: mirror, base: base, history: h, reader: forge.NewReader(mirror, base, h),
		open: map[string]row{}, shown: map[git.Hash]gate{}, doubts: map[int64]doubt{}, settled: map[int64]bool{}, closed: newIndex(), lost: map[git.Hash]git.Hash{},
		label: labels{cooldown: backoff.NewCooldown(labelPause)}, reasons: backoff.NewCooldown(reasonPause),
	}, nil
}

// Amends is true: Gitea remembers the pull request that was merged.
func (f *Forge) Amends() bool { return true }

// place is a repository on a server, as its URL names it.
type place struct {
	// server is the root of the server's pages and API.
	server, owner, name string
	user                *url.Userinfo
}

func (p place) String() string { return p.server + "/" + p.owner + "/" + p.name }

func parsePlace(raw string) (place, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return place{}, errors.New("the URL of the GitOps repository cannot be parsed; use https://host/owner/name")
	}
	user := u.User
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return place{}, fmt.Errorf("%s is not the URL of a repository on Gitea or Forgejo; use https://host/owner/name", u)
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[len(parts)-2] == "" || parts[len(parts)-1] == "" {
		return place{}, fmt.Errorf("%s names no owner and repository; use https://host/owner/name", u)
	}
	prefix, owner, name := parts[:len(parts)-2], parts[len(parts)-2], parts[len(parts)-1]
	u.Path = strings.Join(prefix, "/")
	return place{strings.TrimSuffix(u.String(), "/"), owner, name, user}, nil
}
