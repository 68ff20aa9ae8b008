package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/net/proxy"
)

// configure keeps go-git from reading ~/.ssh/config, and has it connect by an attempt.
var configure = sync.OnceFunc(func() {
	gitssh.DefaultSSHConfig = nil
	proxy.RegisterDialerType(attemptScheme, func(u *url.URL, _ proxy.Dialer) (proxy.Dialer, error) {
		if a, ok := attempts.Load(u.Host); ok {
			return a.(*attempt), nil
		}
		return nil, errors.New("nobody waits for this connection")
	})
})

// sshUser is the user of all common Git servers.
const sshUser = "git"

// newSSH makes the client of a remote repository that is reached by SSH. The settings of this
// machine's user, such as an agent or ~/.ssh/config, are not used: what is sent, and where, depends
// on the Remote alone.
func newSSH(remote Remote, parsed *url.URL) (*endpoint, error) {
	configure()
	user := cmp.Or(parsed.User.Username(), sshUser)
	parsed.User = nil
	ep := &endpoint{url: strings.TrimSuffix(parsed.String(), "/"), silence: cmp.Or(remote.Silence, defaultSilence)}
	failed := func(text string) error {
		return &Error{op: "open", remote: ep.url, kind: kindAuth, text: text}
	}
	switch {
	case len(remote.Identity) == 0:
		return nil, failed("the credentials have no identity: add a private key whose public key the server has")
	case len(remote.KnownHosts) == 0:
		return nil, failed("the credentials have no known_hosts: add the server's host keys, which 'ssh-keyscan' prints, after you compared them with those that the server's owner publishes")
	}
	keys, err := gitssh.NewPublicKeys(user, remote.Identity, remote.Password)
	if err != nil {
		return nil, failed("the identity is not a private key in PEM or OpenSSH format, or its password is wrong")
	}
	known, err := hostKeys(remote.KnownHosts)
	if err != nil {
		return nil, failed("known_hosts is not valid: each line is a host, a type of key and a key")
	}
	plain, err := transport.NewEndpoint(ep.url)
	if err != nil {
		return nil, fmt.Errorf("the remote URL %s cannot be used", ep.url)
	}
	ep.parsed = *plain
	ep.parsed.User = user
	host := parsed.Host
	if parsed.Port() == "" {
		host += ":22"
	}
	ep.auth = &sshAuth{keys, known, host, ep.silence}
	ep.transport = gitssh.NewClient(nil)
	return ep, nil
}

// hostKeys reads the text of a known_hosts file. The library reads files only.
func hostKeys(text []byte) (*knownhosts.HostKeyDB, error) {
	file, err := os.CreateTemp("", "known_hosts-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return knownhosts.NewDB(file.Name())
}

// sshAuth is a key for a server with known host keys.
type sshAuth struct {
	*gitssh.PublicKeys
	known   *knownhosts.HostKeyDB
	host    string
	timeout time.Duration
}

// ClientConfig implements the interface of go-git. Only host keys of the types that are known are
// accepted, because a server has several and offers the one that is asked for.
func (a *sshAuth) ClientConfig() (*ssh.ClientConfig, error) {
	return &ssh.ClientConfig{
		User: a.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(a.Signer)}, Timeout: a.timeout,
		HostKeyCallback: a.known.HostKeyCallback(), HostKeyAlgorithms: a.known.HostKeyAlgorithms(a.host),
	}, nil
}

// isUnknownHost reports whether a server's host key is not known; isOtherHost whether another one is.
func isUnknownHost(err error) bool { return as(err, new(*xknownhosts.KeyError)) && !isOtherHost(err) }

func isOtherHost(err error) bool {
	var unknown *xknownhosts.KeyError
	return as(err, &unknown) && len(unknown.Want) > 0
}

// begin does the first steps of a session, which connect. SSH has a timeout for them: go-git
// connects without a context.
func begin[T any](ctx context.Context, ep *endpoint, turns *turns, step func(context.Context) (T, error)) (T, error) {
	if ep.silence == 0 {
		return within(ctx, turns, func() (T, error) { return step(ctx) })
	}
	bounded, cancel := context.WithTimeout(ctx, ep.silence)
	defer cancel()
	value, err := within(bounded, turns, func() (T, error) { return step(bounded) })
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = silent(ep.silence)
	}
	return value, err
}

// opened opens a session, and closes one that nobody waits for any longer.
func opened[T io.Closer](ctx context.Context, ep *endpoint, turns *turns, open func(*transport.Endpoint, transport.AuthMethod) (T, error)) (T, error) {
	return begin(ctx, ep, turns, func(ctx context.Context) (T, error) {
		at, connected := ep.parsed, func() {}
		if at.Protocol == "ssh" {
			a := newAttempt(ctx)
			at.Proxy.URL, connected = a.url, a.end
		}
		session, err := open(&at, ep.auth)
		connected()
		if err == nil && ctx.Err() != nil {
			err = errors.Join(ctx.Err(), session.Close())
		}
		return session, err
	})
}

// attempt connects for one session, and closes the connection if its context ends before the session
// is open. go-git's own connection to a server that says nothing would never end: its timeout ends
// with the TCP handshake. It takes no dialer, but the name of a kind of proxy.
type attempt struct {
	url, number string
	ctx         context.Context //nolint:containedctx // that of the session, which go-git does not pass on
	stop        func() bool
}

const attemptScheme = "furrow-attempt"

// attempts are those that are under way, by number.
var (
	attempts sync.Map
	counter  atomic.Uint64
)

func newAttempt(ctx context.Context) *attempt {
	number := strconv.FormatUint(counter.Add(1), 10)
	a := &attempt{url: attemptScheme + "://" + number, number: number, ctx: ctx}
	attempts.Store(number, a)
	return a
}

// end leaves the connection to the session, if there is one.
func (a *attempt) end() {
	attempts.Delete(a.number)
	if a.stop != nil {
		a.stop()
	}
}

// Dial implements proxy.Dialer, which go-git does not use.
func (a *attempt) Dial(network, addr string) (net.Conn, error) {
	return a.DialContext(a.ctx, network, addr)
}

// DialContext connects, through the proxy of the environment if there is one.
func (a *attempt) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := proxy.Dial(ctx, network, addr)
	if err == nil {
		a.stop = context.AfterFunc(a.ctx, func() { _ = conn.Close() })
	}
	return conn, err
}
