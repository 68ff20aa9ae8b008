// Package bare has what strict servers of tests do with bare Git repositories: branches, merges,
// commits, and Git over HTTP. git 2.38 or newer must be on the PATH.
//
// A Repo has no state but its directory. Whoever uses it decides who calls it when.
package bare

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Repo is a bare repository of a server.
type Repo struct {
	Dir string

	t      testing.TB
	server string // its name, as the author of what has no other one
}

// None is a repository that is not there: all its answers are empty.
func None(t testing.TB) *Repo { return &Repo{Dir: filepath.Join(t.TempDir(), "none"), t: t} }

// Init makes an empty repository in a directory that does not exist.
func Init(t testing.TB, server, dir, defaultBranch string) (*Repo, error) {
	r := &Repo{Dir: dir, t: t, server: server}
	return r, r.create("init", "-q", "--bare", "--template=", "-b", defaultBranch, dir)
}

// Fork makes a copy of a repository in a directory that does not exist.
func (r *Repo) Fork(dir string) (*Repo, error) {
	fork := &Repo{Dir: dir, t: r.t, server: r.server}
	if err := fork.create("clone", "-q", "--bare", "--template=", r.Dir, dir); err != nil {
		return nil, err
	}
	_, err := fork.Git("remote", "remove", "origin")
	return fork, err
}

func (r *Repo) create(args ...string) error {
	if _, err := r.run(filepath.Dir(r.Dir), "", nil, args...); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"http.receivepack", "true"}, {"gc.auto", "0"}, {"receive.autogc", "false"}} {
		if _, err := r.Git("config", pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// Env is the environment of a git that is not configured; author makes what has no other author.
func Env(author string) []string {
	mail := "noreply@" + strings.ToLower(author) + ".com"
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=" + author, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_NAME=" + author, "GIT_COMMITTER_EMAIL=" + mail,
	}
}

func (r *Repo) run(dir, input string, env []string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(Env(r.server), env...)
	cmd.Stdin = strings.NewReader(input)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(out.String()), fmt.Errorf("git %s: %w: %s", args[0], err, problems.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// Git asks for what may not exist: the answer is empty then.
func (r *Repo) Git(args ...string) (string, error) { return r.run(r.Dir, "", nil, args...) }

// Must runs what can only fail when the server is wrong.
func (r *Repo) Must(input string, env []string, args ...string) string {
	out, err := r.run(r.Dir, input, env, args...)
	if err != nil {
		r.t.Errorf("%s: %v", r.Dir, err)
	}
	return out
}

// Resolve is the commit that a branch, tag or commit id names, or "".
func (r *Repo) Resolve(ref string) string {
	for _, name := range []string{"refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref, ref} {
		if sha, err := r.Git("rev-parse", "-q", "--verify", name+"^{commit}"); err == nil {
			return sha
		}
	}
	return ""
}

// Branch is the commit of a branch, or "".
func (r *Repo) Branch(name string) string {
	sha, err := r.Git("rev-parse", "-q", "--verify", "refs/heads/"+name+"^{commit}")
	if err != nil {
		return ""
	}
	return sha
}

// SetBranch makes a branch a commit, whatever it was; "" deletes it.
func (r *Repo) SetBranch(name, sha string) {
	if sha == "" {
		r.Must("", nil, "update-ref", "-d", "refs/heads/"+name)
		return
	}
	r.Must("", nil, "update-ref", "refs/heads/"+name, sha)
}

// Branches are all branches and their commits.
func (r *Repo) Branches() map[string]string {
	out := map[string]string{}
	lines, err := r.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
	if err != nil {
		return out
	}
	for line := range strings.Lines(lines) {
		if name, sha, found := strings.Cut(strings.TrimSpace(line), " "); found {
			out[strings.TrimPrefix(name, "refs/heads/")] = sha
		}
	}
	return out
}

// Contains is whether a commit can be reached from another one.
func (r *Repo) Contains(descendant, ancestor string) bool {
	_, err := r.Git("merge-base", "--is-ancestor", ancestor, descendant)
	return err == nil
}

// Count is how many commits to has and from has not.
func (r *Repo) Count(from, to string) int {
	out, err := r.Git("rev-list", "--count", from+".."+to)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(out)
	return n
}

// MergeTree is the tree of merging two commits; not clean when they conflict.
func (r *Repo) MergeTree(ours, theirs string) (tree string, clean bool) {
	out, err := r.Git("merge-tree", "--write-tree", "--no-messages", ours, theirs)
	return out, err == nil
}

// Identity makes a commit's author, with an address at a host, and time.
func Identity(author, host string, at time.Time) []string {
	date := strconv.FormatInt(at.Unix(), 10) + " +0000"
	return []string{
		"GIT_AUTHOR_NAME=" + author, "GIT_AUTHOR_EMAIL=" + author + "@" + host,
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
	}
}

// CommitTree makes a commit of a tree; env is its Identity.
func (r *Repo) CommitTree(tree, message string, env []string, parents ...string) string {
	args := []string{"commit-tree", tree}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	return r.Must(message, env, args...)
}

// Replay puts the commits from..to on top of another commit one by one. Not clean when one of them
// conflicts.
func (r *Repo) Replay(from, to, onto string, at time.Time) (sha string, clean bool) {
	list := r.Must("", nil, "rev-list", "--reverse", "--no-merges", from+".."+to)
	date := strconv.FormatInt(at.Unix(), 10) + " +0000"
	for commit := range strings.FieldsSeq(list) {
		c := r.Commit(commit)
		if len(c.Parents) == 0 {
			return "", false
		}
		// The base of a merge is a common ancestor: a copy of the target on top of the commit's parent
		// makes it that one.
		target := r.CommitTree(onto+"^{tree}", "target", []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}, c.Parents[0])
		tree, clean := r.MergeTree(target, commit)
		if !clean {
			return "", false
		}
		author := []string{"GIT_AUTHOR_NAME=" + c.Author, "GIT_AUTHOR_EMAIL=" + c.Email, "GIT_AUTHOR_DATE=" + c.Date, "GIT_COMMITTER_DATE=" + date}
		onto = r.CommitTree(tree, c.Message, author, onto)
	}
	return onto, true
}

// Commit is what a commit says.
type Commit struct {
	Author, Email, Date, Message string
	Parents                      []string
}

// Commit reads a commit.
func (r *Repo) Commit(sha string) Commit {
	out := r.Must("", nil, "show", "-s", "--format=%P%x00%an%x00%ae%x00%aI%x00%B", sha)
	f := strings.SplitN(out, "\x00", 5)
	if len(f) < 5 {
		return Commit{}
	}
	return Commit{Parents: strings.Fields(f[0]), Author: f[1], Email: f[2], Date: f[3], Message: strings.TrimSpace(f[4])}
}

// WriteFiles commits files on top of a commit, which may be "". A file without content is removed.
func (r *Repo) WriteFiles(parent, message string, env []string, files map[string]string) string {
	index := filepath.Join(r.Dir, "index.tmp")
	defer os.Remove(index)
	own := []string{"GIT_INDEX_FILE=" + index}
	if parent != "" {
		r.Must("", own, "read-tree", parent)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if files[path] == "" {
			r.Must("0 0000000000000000000000000000000000000000\t"+path+"\n", own, "update-index", "--index-info")
			continue
		}
		blob := r.Must(files[path], nil, "hash-object", "-w", "--stdin")
		r.Must("", own, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+path)
	}
	tree := r.Must("", own, "write-tree")
	if parent == "" {
		return r.CommitTree(tree, message, env)
	}
	return r.CommitTree(tree, message, env, parent)
}
