package servers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/test/servers/store"
)

// GiteaOptions says how to start Gitea.
type GiteaOptions struct {
	// Dir is Gitea's own folder: not there, empty, or from before. When we are root Gitea runs as
	// nobody, who then owns the folder, and the folders above that are in the temporary folder are
	// opened for passage.
	Dir string
	// Port is the one to listen on; 0 is that of before, or a free one.
	Port int
}

// Gitea is a running Gitea.
type Gitea struct {
	// URL is the base URL without a slash at its end; Dir the folder that is Gitea's, with logs in
	// Dir/logs.
	URL string
	Dir string
	// AdminUser and AdminToken are those of a site administrator.
	AdminUser  string
	AdminToken string

	user    account
	program string
	port    int
	web     *process
}

// adminUser administers each Gitea.
const adminUser = "furrow-admin"

// giteaGrace is how long Gitea may take to end, which it does when the requests at hand are done.
const giteaGrace = 5 * time.Second

// StartGitea starts Gitea in its folder, with what it held before. ctx bounds the start only.
func StartGitea(ctx context.Context, options GiteaOptions) (*Gitea, error) {
	bin, err := Find(GiteaServer)
	if err != nil {
		return nil, err
	}
	dir, err := ownDir(options.Dir, "conf")
	if err != nil {
		return nil, fmt.Errorf("start Gitea: %w", err)
	}
	g := &Gitea{Dir: dir, AdminUser: adminUser}
	if g.user, err = giteaAccount(); err != nil {
		return nil, err
	}
	if err := g.prepare(bin); err != nil {
		return nil, err
	}
	err = onKeptPort(filepath.Join(dir, "port"), options.Port, func(port int) error {
		g.port, g.URL = port, "http://"+loopback(port)
		return g.begin(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// prepare makes the folders and finds the program and its files.
func (g *Gitea) prepare(bin store.Bin) error {
	// The first one is the folder's mark.
	for _, folder := range []string{"conf", "", "logs", "data", "tmp"} {
		if err := os.MkdirAll(filepath.Join(g.Dir, folder), 0o755); err != nil {
			return fmt.Errorf("make Gitea's folders: %w", err)
		}
		if err := g.user.own(filepath.Join(g.Dir, folder)); err != nil {
			return err
		}
	}
	if err := g.user.openPassage(g.Dir); err != nil {
		return err
	}
	from := bin.Dir(GiteaServer)
	if g.user.credential != nil && !passable(from) {
		to := filepath.Join(g.Dir, "server")
		if err := linkTree(from, to); err != nil {
			return fmt.Errorf("lay out Gitea's files for its user: %w", err)
		}
		from = to
	}
	g.program = filepath.Join(from, "bin", "gitea")
	return nil
}

// begin configures Gitea for its port, makes its database and administrator when there are none,
// and starts it.
func (g *Gitea) begin(ctx context.Context) error {
	if err := g.configure(); err != nil {
		return err
	}
	tokenFile := filepath.Join(g.Dir, "admin-token")
	token, err := os.ReadFile(tokenFile)
	if errors.Is(err, os.ErrNotExist) {
		token, err = g.found(ctx)
		if err == nil {
			err = os.WriteFile(tokenFile, token, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("get the administrator's token: %w", err)
	}
	g.AdminToken = string(token)
	return g.startWeb(ctx)
}

// found makes the database and the administrator, and gives the latter's token.
func (g *Gitea) found(ctx context.Context) ([]byte, error) {
	if _, err := run(ctx, g.command("migrate", "migrate")); err != nil {
		return nil, err
	}
	output, err := run(ctx, g.command("admin", "admin", "user", "create", "--admin",
		"--username", adminUser, "--random-password", "--email", adminUser+"@example.invalid",
		"--must-change-password=false", "--access-token", "--access-token-name", "furrow", "--access-token-scopes", "all"))
	if err != nil {
		return nil, err
	}
	_, token, ok := strings.Cut(output, "Access token was successfully created... ")
	if !ok {
		return nil, fmt.Errorf("no token in what Gitea said")
	}
	return []byte(strings.TrimSpace(token)), nil
}

// startWeb starts the server itself and waits for its API.
func (g *Gitea) startWeb(ctx context.Context) error {
	web, err := start(g.command("gitea", "web"))
	if err != nil {
		return err
	}
	g.web = web
	return web.await(ctx, answers(http.DefaultClient, g.URL+"/api/v1/version"))
}

// command returns a gitea command; name is that of its log.
func (g *Gitea) command(name string, args ...string) command {
	return command{
		name: name, program: g.program, dir: g.Dir, logs: filepath.Join(g.Dir, "logs"), as: g.user.credential,
		args: append(args, "--config", g.configFile(), "--work-path", g.Dir),
		env:  []string{"USER=" + g.user.name, "TMPDIR=" + filepath.Join(g.Dir, "tmp")},
	}
}

// Stop ends Gitea. It is fine on one that was stopped.
func (g *Gitea) Stop() error {
	return g.web.stop(giteaGrace)
}

// Restart ends Gitea and starts it on the same port with what it held.
func (g *Gitea) Restart(ctx context.Context) error {
	if err := g.Stop(); err != nil {
		return err
	}
	return g.startWeb(ctx)
}
