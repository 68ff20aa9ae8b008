package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// files are the contents of files by path; an empty one is deleted.
type files map[string]string

// repository is a person's clone of a repository on Gitea.
type repository struct {
	owner, name string
	// url is Gitea's, without credentials.
	url, dir string
	// date is the date of all commits made here; the current time if empty.
	date string
	mu   sync.Mutex
}

// gitLimit is the timeout of one git command.
const gitLimit = time.Minute

// clone clones a repository into dir as a person.
func clone(owner, name, address, dir string, who account) (*repository, error) {
	r := &repository{owner: owner, name: name, url: address, dir: dir}
	signedIn, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	signedIn.User = url.UserPassword(who.name, who.token)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := r.git("clone", "--quiet", signedIn.String(), "."); err != nil {
		return nil, err
	}
	for _, setting := range [][2]string{{"user.name", who.name}, {"user.email", who.name + "@example.invalid"}} {
		if _, err := r.git("config", setting[0], setting[1]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// git runs git in the clone and returns its output.
func (r *repository) git(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0")
	if r.date != "" {
		cmd.Env = append(cmd.Env, "GIT_AUTHOR_DATE="+r.date, "GIT_COMMITTER_DATE="+r.date)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// commit commits changes on top of a branch and pushes them.
func (r *repository) commit(branch, message string, changes ...files) (commit string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fetchLocked(); err != nil {
		return "", err
	}
	if _, err := r.git("checkout", "--quiet", "--force", "--detach", "origin/"+branch); err != nil {
		return "", err
	}
	for _, change := range changes {
		for path, content := range change {
			if err := r.write(path, content); err != nil {
				return "", err
			}
		}
	}
	for _, args := range [][]string{
		{"add", "--all"}, {"commit", "--quiet", "--message", message}, {"push", "--quiet", "origin", "HEAD:refs/heads/" + branch},
	} {
		if _, err := r.git(args...); err != nil {
			return "", err
		}
	}
	return r.git("rev-parse", "HEAD")
}

// beginAnew replaces the forge's first commit by an empty one of this date.
func (r *repository) beginAnew(date string) error {
	r.date = date
	for _, args := range [][]string{
		{"checkout", "--quiet", "--orphan", "anew"}, {"rm", "--quiet", "-r", "--force", "."},
		{"commit", "--quiet", "--allow-empty", "--message", "Begin"}, {"push", "--quiet", "--force", "origin", "HEAD:refs/heads/main"},
	} {
		if _, err := r.git(args...); err != nil {
			return err
		}
	}
	return nil
}

func (r *repository) write(path, content string) error {
	path = filepath.Join(r.dir, filepath.FromSlash(path))
	if content == "" {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// fetch updates the remote-tracking branches.
func (r *repository) fetch() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetchLocked()
}

func (r *repository) fetchLocked() error {
	_, err := r.git("fetch", "--quiet", "--prune", "--force", "origin", "+refs/heads/*:refs/remotes/origin/*")
	return err
}

// read returns a file of a branch as last fetched; empty if there is none.
func (r *repository) read(branch, path string) string {
	content, err := r.git("show", "origin/"+branch+":"+path)
	if err != nil {
		return ""
	}
	return content + "\n"
}

// object returns the object id at a path of a revision; empty if there is none or the revision is unknown.
func (r *repository) object(revision, path string) string {
	id, err := r.git("rev-parse", "--verify", "--quiet", revision+":"+path)
	if err != nil {
		return ""
	}
	return id
}

// head returns the commit of a branch as last fetched.
func (r *repository) head(branch string) string {
	id, err := r.git("rev-parse", "--verify", "--quiet", "refs/remotes/origin/"+branch)
	if err != nil {
		return ""
	}
	return id
}
