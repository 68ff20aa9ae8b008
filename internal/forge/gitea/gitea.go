// Package gitea is the forge for Gitea and Forgejo: a proposal is a pull request
// of its tier's branch to the base branch of the same repository.
//
// What a branch holds is read from the mirror, as on plain Git. The pull request
// adds whether it is open, its URL, and whether Gitea can merge it. People may
// retitle it, rewrite it, label, lock or mark it as a draft: nothing but its
// branch, its base branch and its state counts. One from a fork, or to another base
// branch, is ignored; one that a person opened from our branch to our base is used,
// because Gitea allows no second one.
//
// # What is asked of the server
//
// All open pull requests to base are listed once a pass, page by page, those of
// others too: Gitea cannot filter by head branch, and a filter by author or label
// would miss what a person opened or relabelled. Pages overlap by a row, and a list
// that shrank in between is read again.
//
// Closed ones are kept in an index by branch and digest, because the API has no
// request for one branch: GET pulls/{base}/{head} returns the oldest of several.
// The first request reads the closed pull requests of our own user, newest first;
// from then on only what was updated since is read, by anybody, and only where it
// can have changed an answer: base has moved, an open one of ours is gone from the
// list, or we did something ourselves. So a tier that stays Rejected costs nothing.
// Pull requests that another user's token opened before the process started, and
// that a person rejected, are unknown.
//
// # What a closed pull request means
//
// Furrow closes one by the same request that marks its text Furrow-Superseded;
// Gitea writes the text first. All others that are closed unmerged were rejected by
// a person, by the button, through Furrow, or by deleting the branch, unless base
// has their commit: then it was pushed there. Which digest a closed one had is read
// from its text or, where a person took that out, from its last commit. If Furrow
// was killed between pushing that commit and writing the text, people could read
// both, and rejected both.
//
// Gitea closes a pull request shortly after its branch was deleted; until then it
// counts as rejected, too. At that time it also closes a pull request just opened
// from a new branch of the same name. The timeline shows that, and it does not
// count as a rejection.
//
// # Conflicts
//
// Gitea does not distinguish a conflict from a check that has not run yet, and
// checks an idle pull request only when it is read. So its answer counts only if it
// is the same some seconds, by its own clock, after a request made it check the
// same commits. A wrong answer costs one graft onto the tip of base, which cannot
// conflict.
//
// # A server that does not answer
//
// A request has a timeout. After one, further requests fail at once with the same
// error for some seconds; a later pass asks again.
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

// Forge is a repository on a Gitea or Forgejo server. All that it keeps it can read again. Its
// methods may be used by several goroutines: mu guards the fields below it and is not held during
// requests; reading is, so one goroutine at a time updates the index.
type Forge struct {
	api     *api
	mirror  forge.Fetcher
	base    string
	history *forge.History
	reader  *forge.Reader

	label labels
	// reading is held while the index is updated, and before mu.
	reading sync.Mutex

	mu sync.Mutex
	// open are the open proposals that were seen last, by branch.
	open map[string]row
	// shown is what the gate was last posted as, by commit.
	shown map[git.Hash]gate
	// unmergeable are the open proposals that Gitea would not merge, by number.
	unmergeable map[int64]conflict
	// landed are those that were open when base had all of them, by number.
	landed map[int64]bool
	closed index
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
		open: map[string]row{}, shown: map[git.Hash]gate{}, unmergeable: map[int64]conflict{}, landed: map[int64]bool{}, closed: newIndex(), lost: map[git.Hash]git.Hash{},
		label: labels{cooldown: backoff.NewCooldown(labelPause)}, reasons: backoff.NewCooldown(reasonPause),
	}, nil
}

// Amends is true: Gitea remembers the pull request that was merged.
func (f *Forge) Amends() bool { return true }

// repository is a repository on a server, as its URL names it.
type repository struct {
	// server is the root of the server's pages and API.
	server, owner, name string
	user                *url.Userinfo
}

func (p repository) String() string { return p.server + "/" + p.owner + "/" + p.name }

// parseURL reads the URL of a repository for Git. Its last two parts are the owner and the
// name. What is before them is where Gitea is served below a prefix. Errors have no credentials.
func parseURL(raw string) (repository, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return repository{}, errors.New("the URL of the GitOps repository cannot be parsed; use https://host/owner/name")
	}
	user := u.User
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return repository{}, fmt.Errorf("%s is not the URL of a repository on Gitea or Forgejo; use https://host/owner/name", u)
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[len(parts)-2] == "" || parts[len(parts)-1] == "" {
		return repository{}, fmt.Errorf("%s names no owner and repository; use https://host/owner/name", u)
	}
	prefix, owner, name := parts[:len(parts)-2], parts[len(parts)-2], parts[len(parts)-1]
	u.Path = strings.Join(prefix, "/")
	return repository{strings.TrimSuffix(u.String(), "/"), owner, name, user}, nil
}
