package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// tokenUsername goes with a token where the caller names no user; GitHub, GitLab, Gitea and Forgejo
// accept it.
const tokenUsername = "x-access-token"

// Remote says where a repository is and how to be let in: an https (or http) URL, one of SSH, or a
// local path.
type Remote struct {
	URL string

	// Username and Password are for basic authentication. Credentials in the URL count as these.
	Username string
	Password string `json:"-"`

	// Token is sent as the password; Username may stay empty.
	Token string `json:"-"`

	// Source provides credentials that change, such as tokens that expire. It is used instead of the
	// ones above, for requests to this server only.
	Source Source `json:"-"`

	// Identity is the private key for SSH; Password is its passphrase, if it has one. KnownHosts are
	// the host keys of the server, without which SSH is not used.
	Identity, KnownHosts []byte `json:"-"`

	// CABundle holds PEM certificates that are trusted besides the system's.
	CABundle []byte

	// Silence is how long a server that is asked for its refs may say nothing; 30 s where it is 0.
	Silence time.Duration
}

// Source provides the credentials of the moment. Its methods may be used by several goroutines.
type Source interface {
	// Login returns a user name and a password.
	Login(ctx context.Context) (username, password string, err error)
	// Rejected takes note of a request whose credentials the server did not accept, and reports
	// whether Login may return others now.
	Rejected(r *http.Request) bool
	// Secrets are the spellings of what Login returned.
	Secrets() redact.Secrets
}

// String returns the URL without credentials.
func (r Remote) String() string { return redact.URL(r.URL) }

// GoString is String, so no verb of fmt shows credentials.
func (r Remote) GoString() string { return fmt.Sprintf("git.Remote{%q}", r.String()) }

// Format is String for every verb.
func (r Remote) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, r.String()) }

// LogValue is String for structured logs.
func (r Remote) LogValue() slog.Value { return slog.StringValue(r.String()) }

// endpoint is a Remote made ready for sessions. The URL has no credentials; auth or source has them.
type endpoint struct {
	url       string
	parsed    transport.Endpoint
	auth      transport.AuthMethod
	transport transport.Transport
	idle      *http.Transport
	secrets   redact.Secrets
	source    Source
	// silence is how long a server may take to begin a session; zero where requests have their own
	// timeouts.
	silence time.Duration
}

// clean makes a text of others one line of bounded length without credentials.
func (ep *endpoint) clean(text string) string {
	text = ep.secrets.In(truncate.Line(text, maxText))
	if ep.source != nil {
		text = ep.source.Secrets().In(text)
	}
	return text
}

// newEndpoint returns how a remote repository is reached: by HTTP, or as a directory. Nothing is
// connected yet. The errors have no credentials, which a URL may hold.
func newEndpoint(remote Remote) (*endpoint, error) {
	if remote.URL == "" {
		return nil, errors.New("the remote repository has no URL")
	}
	if !strings.Contains(remote.URL, "://") {
		return newLocal(remote.URL)
	}
	parsed, err := url.Parse(remote.URL)
	if err != nil {
		return nil, fmt.Errorf("the remote URL %s cannot be parsed", redact.URL(remote.URL))
	}
	switch parsed.Scheme {
	case "file":
		return newLocal(parsed.Path)
	case "https", "http":
		return newHTTP(remote, parsed)
	case "ssh":
		return newSSH(remote, parsed)
	}
	return nil, fmt.Errorf("the remote URL %s has the scheme %q; use https, ssh or a local path", redact.URL(remote.URL), parsed.Scheme)
}

// newHTTP makes the client of one remote repository. Credentials are taken out of the URL, which is
// shown and logged; a CA bundle is trusted in addition to the system's authorities.
func newHTTP(remote Remote, parsed *url.URL) (*endpoint, error) {
	username, password := credentials(remote, parsed.User)
	parsed.User = nil
	ep := &endpoint{url: strings.TrimSuffix(parsed.String(), "/"), secrets: redact.Password(username, password)}
	plain, err := transport.NewEndpoint(ep.url)
	if err != nil {
		return nil, fmt.Errorf("the remote URL %s cannot be used", ep.url)
	}
	ep.parsed = *plain
	if password != "" {
		ep.auth = &githttp.BasicAuth{Username: username, Password: password}
	}
	ep.idle = http.DefaultTransport.(*http.Transport).Clone()
	if len(remote.CABundle) > 0 {
		pool, err := CertPool(remote.CABundle)
		if err != nil {
			return nil, fmt.Errorf("the CA bundle for %s: %w", ep.url, err)
		}
		ep.idle.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	var next http.RoundTripper = impatient{ep.idle, cmp.Or(remote.Silence, defaultSilence)}
	if remote.Source != nil {
		ep.auth, ep.source, ep.secrets = nil, remote.Source, nil
		next = authorizing{next, remote.Source, parsed}
	}
	ep.transport = githttp.NewClient(&http.Client{Transport: next})
	return ep, nil
}

// authorizing adds the credentials of a source to the requests to one server. Redirects may lead to
// others.
type authorizing struct {
	next   http.RoundTripper
	source Source
	server *url.URL
}

// RoundTrip sends a request with credentials, and where they are not accepted once more with others.
func (a authorizing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != a.server.Host || r.URL.Scheme != a.server.Scheme {
		return a.next.RoundTrip(r)
	}
	for again := r.Body == nil; ; again = false {
		username, password, err := a.source.Login(r.Context())
		if err != nil {
			return nil, err
		}
		sent := r.Clone(r.Context())
		sent.SetBasicAuth(username, password)
		response, err := a.next.RoundTrip(sent)
		if err != nil || response.StatusCode != http.StatusUnauthorized || !again || !a.source.Rejected(sent) {
			return response, err
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
	}
}

const defaultSilence = 30 * time.Second

// silent is a server that sent nothing for some time. It is temporary, as net.Error reports.
type silent time.Duration

func (s silent) Error() string {
	return fmt.Sprintf("the server said nothing for %s", time.Duration(s))
}
func (silent) Timeout() bool   { return true }
func (silent) Temporary() bool { return true }

// impatient fails a request for the refs, with which each session begins, if the server sends
// nothing for some time. What follows may take a server long to prepare, such as a large pack, and
// is bounded by networkLimit alone. So a server that accepts connections and does not answer is
// noticed in seconds, and a slow one is not interrupted.
type impatient struct {
	next    http.RoundTripper
	silence time.Duration
}

// RoundTrip gives up a GET, which is what asks for the refs, after a silence at the beginning or
// between two parts of the answer.
func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return i.next.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(i.silence, func() { cancel(silent(i.silence)) }) //nolint:forbidigo // of a network, as in net/http
	response, err := i.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		cancel(nil)
		return nil, err
	}
	response.Body = &answer{response.Body, ctx, cancel, timer, i.silence}
	return response, nil
}

// answer is a body with a timeout between reads, which starts anew with each read that succeeds.
type answer struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // that of the request whose body it is
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
}

// Read begins the silence anew with each part that arrives, and returns the silence as the error if
// it was the reason.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == nil {
		a.timer.Reset(a.silence)
		return n, nil
	}
	var why silent
	if errors.As(context.Cause(a.ctx), &why) {
		err = why
	}
	return n, err
}

func (a *answer) Close() error {
	a.timer.Stop()
	defer a.cancel(nil)
	return a.ReadCloser.Close()
}

// credentials chooses: what the Remote has goes before what is in the URL, and a token before a
// password. A URL with a user and no password (https://TOKEN@host) has a token there.
func credentials(remote Remote, user *url.Userinfo) (username, password string) {
	username, password = remote.Username, remote.Password
	if user != nil {
		inURL, _ := user.Password()
		username, password = cmp.Or(username, user.Username()), cmp.Or(password, inURL)
		if password == "" && remote.Token == "" {
			username, password = tokenUsername, user.Username()
		}
	}
	return cmp.Or(username, tokenUsername), cmp.Or(remote.Token, password)
}

// CertPool returns a pool of the system's certificates and those of bundle.
func CertPool(bundle []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, errors.New("it has no PEM certificate")
	}
	return pool, nil
}

// newLocal returns how a directory is reached: through the git programs of this machine, as a
// server would run them.
func newLocal(path string) (*endpoint, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	upload, err := gitProgram(transport.UploadPackServiceName)
	if err != nil {
		return nil, err
	}
	receive, err := gitProgram(transport.ReceivePackServiceName)
	if err != nil {
		return nil, err
	}
	return &endpoint{
		url:       abs,
		parsed:    transport.Endpoint{Protocol: "file", Path: abs},
		transport: file.NewClient(upload, receive),
	}, nil
}

// gitProgram finds a program of Git once, so sessions need not search for it.
func gitProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if out, err := exec.Command("git", "--exec-path").Output(); err == nil {
		if path, err := exec.LookPath(filepath.Join(strings.TrimSpace(string(out)), name)); err == nil {
			return path, nil
		}
	}
	return "", &Error{op: "open the repository", kind: kindOther,
		text: "a local path needs " + name + ", which was not found: install git, or use an https URL"}
}

func (ep *endpoint) close() {
	if ep.idle != nil {
		ep.idle.CloseIdleConnections()
	}
}

// turns lets the steps of one session run one after the other, including those that nobody waits
// for any longer: a session of go-git is not safe for several goroutines, and closing it while a
// step still reads would be a data race.
type turns struct{ mu sync.Mutex }

// within runs one step of a session and returns when ctx is done, even if the step still waits for
// a local server's children, which keep its output open. The step itself then ends later, in its
// goroutine.
func within[T any](ctx context.Context, turns *turns, step func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		value, err := step()
		done <- outcome{value, err}
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// hangUp closes one end of a session. What it could say no longer matters: the answer was read, or
// has failed.
func hangUp(ctx context.Context, turns *turns, end io.Closer) {
	_, _ = within(ctx, turns, func() (struct{}, error) { return struct{}{}, end.Close() })
}
