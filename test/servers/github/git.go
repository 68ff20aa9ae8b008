package github

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
	"time"
)

// gitEnv keeps the machine's configuration out of the server's repositories.
func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.com", "LC_ALL=C",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com",
	}
}

func runGit(dir, input string, env []string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(gitEnv(), env...)
	cmd.Stdin = strings.NewReader(input)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(out.String()), fmt.Errorf("git %s: %w: %s", args[0], err, problems.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// git asks for what may not exist: the answer is empty then.
func (r *repo) git(args ...string) (string, error) { return runGit(r.dir, "", nil, args...) }

// must runs what can only fail when the server is wrong.
func (s *Server) must(r *repo, input string, env []string, args ...string) string {
	out, err := runGit(r.dir, input, env, args...)
	if err != nil {
		s.t.Errorf("%s: %v", r.fullName(), err)
	}
	return out
}

func (s *Server) initRepo(r *repo) error {
	r.dir = s.repoDir(strconv.FormatInt(r.id, 10))
	args := []string{"init", "-q", "--bare", "--template=", "-b", r.defaultBranch, r.dir}
	if r.parent != nil {
		args = []string{"clone", "-q", "--bare", "--template=", r.parent.dir, r.dir}
	}
	if _, err := runGit(s.dir, "", nil, args...); err != nil {
		return err
	}
	if r.parent != nil {
		if _, err := r.git("remote", "remove", "origin"); err != nil {
			return err
		}
	}
	for _, pair := range [][2]string{{"http.receivepack", "true"}, {"uploadpack.allowFilter", "true"}, {"uploadpack.allowAnySHA1InWant", "true"}, {"gc.auto", "0"}, {"receive.autogc", "false"}} {
		if _, err := r.git("config", pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// resolve is the commit that a branch, tag or commit id names, or "".
func (r *repo) resolve(ref string) string {
	for _, name := range []string{"refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref, ref} {
		if sha, err := r.git("rev-parse", "-q", "--verify", name+"^{commit}"); err == nil {
			return sha
		}
	}
	return ""
}

func (r *repo) branch(name string) string {
	sha, err := r.git("rev-parse", "-q", "--verify", "refs/heads/"+name+"^{commit}")
	if err != nil {
		return ""
	}
	return sha
}

// refs are the references below a prefix, and what they point at.
func (r *repo) refs(prefix string) map[string]string {
	out := map[string]string{}
	lines, err := r.git("for-each-ref", "--format=%(refname) %(objectname)", prefix)
	if err != nil {
		return out
	}
	for line := range strings.Lines(lines) {
		if name, sha, found := strings.Cut(strings.TrimSpace(line), " "); found {
			out[name] = sha
		}
	}
	return out
}

func (r *repo) contains(descendant, ancestor string) bool {
	_, err := r.git("merge-base", "--is-ancestor", ancestor, descendant)
	return err == nil
}

func (r *repo) count(from, to string) int {
	out, err := r.git("rev-list", "--count", from+".."+to)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(out)
	return n
}

// mergeTree is the tree of merging two commits; not clean when they conflict.
func (r *repo) mergeTree(ours, theirs string) (tree string, clean bool) {
	out, err := r.git("merge-tree", "--write-tree", "--no-messages", ours, theirs)
	return out, err == nil
}

// identity makes a commit's author and time.
func identity(author string, at time.Time) []string {
	date := strconv.FormatInt(at.Unix(), 10) + " +0000"
	return []string{
		"GIT_AUTHOR_NAME=" + author, "GIT_AUTHOR_EMAIL=" + author + "@users.noreply.github.com",
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
	}
}

func (s *Server) commitTree(r *repo, tree, message string, env []string, parents ...string) string {
	args := []string{"commit-tree", tree}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	return s.must(r, message, env, args...)
}

// replay puts the commits from..to on top of another commit one by one. Not clean when one of them
// conflicts.
func (s *Server) replay(r *repo, from, to, onto string) (sha string, clean bool) {
	list := s.must(r, "", nil, "rev-list", "--reverse", "--no-merges", from+".."+to)
	env := identity("GitHub", s.now())
	for commit := range strings.FieldsSeq(list) {
		c := s.commit(r, commit)
		if len(c.parents) == 0 {
			return "", false
		}
		// The base of a merge is a common ancestor: a copy of the target on top of the commit's parent
		// makes it that one.
		target := s.commitTree(r, onto+"^{tree}", "target", env, c.parents[0])
		tree, clean := r.mergeTree(target, commit)
		if !clean {
			return "", false
		}
		author := []string{"GIT_AUTHOR_NAME=" + c.author, "GIT_AUTHOR_EMAIL=" + c.email, "GIT_AUTHOR_DATE=" + c.date,
			"GIT_COMMITTER_DATE=" + strconv.FormatInt(s.now().Unix(), 10) + " +0000"}
		onto = s.commitTree(r, tree, c.message, author, onto)
	}
	return onto, true
}

type commitInfo struct {
	author, email, date, message string
	parents                      []string
}

func (s *Server) commit(r *repo, sha string) commitInfo {
	out := s.must(r, "", nil, "show", "-s", "--format=%P%x00%an%x00%ae%x00%aI%x00%B", sha)
	f := strings.SplitN(out, "\x00", 5)
	if len(f) < 5 {
		return commitInfo{}
	}
	return commitInfo{parents: strings.Fields(f[0]), author: f[1], email: f[2], date: f[3], message: strings.TrimSpace(f[4])}
}

// writeFiles commits files on top of a commit, which may be "". A file without content is removed.
func (s *Server) writeFiles(r *repo, parent, message string, by *user, files map[string]string) string {
	index := filepath.Join(r.dir, "index.tmp")
	defer os.Remove(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	if parent != "" {
		s.must(r, "", env, "read-tree", parent)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if files[path] == "" {
			s.must(r, "0 0000000000000000000000000000000000000000\t"+path+"\n", env, "update-index", "--index-info")
			continue
		}
		blob := s.must(r, files[path], nil, "hash-object", "-w", "--stdin")
		s.must(r, "", env, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+path)
	}
	tree := s.must(r, "", env, "write-tree")
	if parent == "" {
		return s.commitTree(r, tree, message, identity(by.login, s.now()))
	}
	return s.commitTree(r, tree, message, identity(by.login, s.now()), parent)
}
