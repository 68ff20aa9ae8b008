package servers

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/crypto/ssh"
)

// giteaConfig is Gitea's app.ini. Gitea adds the secrets that it makes up.
var giteaConfig = template.Must(template.New("app.ini").Parse(`APP_NAME = Gitea
RUN_MODE = prod
RUN_USER = {{.User}}

[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {{.Port}}
ROOT_URL = {{.URL}}/
STATIC_ROOT_PATH = {{.Static}}
DISABLE_SSH = true
OFFLINE_MODE = true
GRACEFUL_HAMMER_TIME = 2s

[database]
DB_TYPE = sqlite3
PATH = {{.Dir}}/data/gitea.db
SQLITE_JOURNAL_MODE = WAL

[security]
INSTALL_LOCK = true

[service]
DISABLE_REGISTRATION = true

[repository]
ROOT = {{.Dir}}/data/repositories
DEFAULT_BRANCH = main

[repository.signing]
SIGNING_KEY = {{.SigningKey}}
SIGNING_FORMAT = ssh
SIGNING_NAME = Gitea
SIGNING_EMAIL = gitea@example.invalid
INITIAL_COMMIT = never
CRUD_ACTIONS = never
MERGES = pubkey

[indexer]
ISSUE_INDEXER_TYPE = db

[webhook]
ALLOWED_HOST_LIST = loopback

[cron]
ENABLED = false

[actions]
ENABLED = false

[packages]
ENABLED = false

[log]
MODE = console
LEVEL = Info
ROOT_PATH = {{.Dir}}/logs
`))

// configFile returns the path of app.ini.
func (g *Gitea) configFile() string {
	return filepath.Join(g.Dir, "conf", "app.ini")
}

// configure writes app.ini. One that is there holds secrets, so only its port is set anew.
func (g *Gitea) configure() error {
	old, err := os.ReadFile(g.configFile())
	if err == nil {
		return g.writeConfig(withPort(string(old), g.port, g.URL))
	} else if !os.IsNotExist(err) {
		return fmt.Errorf("read Gitea's configuration: %w", err)
	}
	if err := g.makeSigningKey(); err != nil {
		return fmt.Errorf("make Gitea's signing key: %w", err)
	}
	var text strings.Builder
	err = giteaConfig.Execute(&text, map[string]any{
		"User": g.user.name, "Port": g.port, "URL": g.URL, "Dir": g.Dir,
		"SigningKey": g.signingKeyFile() + ".pub",
		"Static":     filepath.Join(filepath.Dir(filepath.Dir(g.program)), "static"),
	})
	if err != nil {
		return fmt.Errorf("fill in Gitea's configuration: %w", err)
	}
	return g.writeConfig(text.String())
}

// signingKeyFile returns the path of the key with which Gitea signs merges; the public one is beside it.
func (g *Gitea) signingKeyFile() string { return filepath.Join(g.Dir, "conf", "signing") }

func (g *Gitea) makeSigningKey() error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	private, err := ssh.MarshalPrivateKey(key, "gitea")
	if err != nil {
		return err
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return err
	}
	for file, content := range map[string][]byte{
		g.signingKeyFile(): pem.EncodeToMemory(private), g.signingKeyFile() + ".pub": ssh.MarshalAuthorizedKey(public),
	} {
		if err := errors.Join(os.WriteFile(file, content, 0o600), g.user.own(file)); err != nil {
			return err
		}
	}
	return nil
}

// SigningKey returns the public key with which Gitea signs what a user merges who has a public key.
func (g *Gitea) SigningKey() (string, error) {
	content, err := os.ReadFile(g.signingKeyFile() + ".pub")
	return strings.TrimSpace(string(content)), err
}

func (g *Gitea) writeConfig(text string) error {
	if err := os.WriteFile(g.configFile(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write Gitea's configuration: %w", err)
	}
	return g.user.own(g.configFile())
}

// withPort sets the port and the URL in a configuration.
func withPort(config string, port int, url string) string {
	lines := strings.Split(config, "\n")
	for i, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		switch strings.TrimSpace(key) {
		case "HTTP_PORT":
			lines[i] = fmt.Sprintf("HTTP_PORT = %d", port)
		case "ROOT_URL":
			lines[i] = "ROOT_URL = " + url + "/"
		}
	}
	return strings.Join(lines, "\n")
}
