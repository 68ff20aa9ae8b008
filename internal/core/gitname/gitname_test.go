package gitname_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/gitname"
)

func TestDirectoriesThatGitOrAFileSystemRefuses(t *testing.T) {
	tests := map[string]struct {
		refused []string
		want    string
	}{
		"what means .git": {[]string{
			".git", ".git/hooks", "a/.git/b", ".GIT", ".Git", ".git.", ".git ", ".git . .", ".git:", ".git::$INDEX_ALLOCATION", ".git:x", "git~1", "GIT~1", "git~1.", "git~1::$DATA", "a/git~1/b",
		}, "has a part that means .git"},
		"what means another file of Git's": {[]string{
			".gitmodules", ".GitModules", ".gitmodules.", ".gitmodules:x", "gitmod~1", "gitmod~4", "gi7eba~1", "gi7eb~10", "gi7e~123", "g~123456",
			".gitattributes", "gitatt~2", "gi7d29~9", ".gitignore", "gitign~3", "gi250a~1", ".mailmap", "mailma~1", "ma30f4~1", "a/.gitmodules/b",
		}, "has a part that means ."},
		"what is invisible":                 {[]string{".g\u200cit", "a\u200db", "\ufeffa", "a\x00b", "a\tb", "a\x7fb", "a\u202eb"}, "has a control or invisible character"},
		"what is not UTF-8":                 {[]string{"a\xffb", "caf\xe9"}, "is not UTF-8"},
		"what leaves the repository":        {[]string{"..", "../a", "a/../b", "a/.."}, `has a part ".."`},
		"what is written in a second way":   {[]string{"./a", "a/./b"}, `has a part "."`},
		"what has an empty part":            {[]string{"a//b", "a/"}, "has an empty part"},
		"the root":                          {[]string{"", "."}, "is the repository itself"},
		"what is absolute":                  {[]string{"/", "/a"}, "is absolute"},
		"a backslash":                       {[]string{`a\b`, `..\a`}, "has a backslash"},
		"what Windows does not allow":       {[]string{"a:b", "a*", "a?", `"a"`, "<a>", "a|b"}, "that Windows does not allow"},
		"what Windows drops":                {[]string{"a.", "a ", " a", "a./b", "...", "a/ /b", "a. ."}, "which Windows drops"},
		"a part that no file system stores": {[]string{strings.Repeat("a", 256)}, "longer than 255 bytes"},
		"more than all":                     {[]string{strings.Repeat("a/", 300) + "a"}, "longer than 512 bytes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, dir := range tc.refused {
				if got := gitname.DirFault(dir); !strings.Contains(got, tc.want) {
					t.Errorf("%q: %q; want %q", dir, got, tc.want)
				}
			}
		})
	}
}

func TestDirectoriesThatEverythingAccepts(t *testing.T) {
	for _, dir := range []string{
		"clusters", "clusters/east", ".github", ".gitops/east", "git", "a.git", "git~2", "gitmod~5", "gi7eba~0", "a.b/c-d_e", "Ost/Köln", "a b", strings.Repeat("a", 255), "x/gi7eba",
	} {
		if got := gitname.DirFault(dir); got != "" {
			t.Errorf("%q %s", dir, got)
		}
	}
}

// A file has more names than a directory: what people call their objects comes from elsewhere.
func TestFilesHaveTheNamesThatServersAccept(t *testing.T) {
	for name, refused := range map[string]bool{".gitignore": false, ".gitattributes": false, "a:b.yaml": false, ".git": true, "GIT~1": true, ".git\x20": true, "a\u200b": true, "": true} {
		if got := gitname.FileFault(name); (got != "") != refused {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestPathsThatDifferOnlyByCaseFoldToOne(t *testing.T) {
	for a, b := range map[string]string{"clusters/East": "CLUSTERS/east", "Stra\u00dfe/\u00e9": "stra\u00dfe/\u00c9", "K\u00f6ln": "Ko\u0308ln", "ſ": "S", "K": "k", "Σ": "ς"} {
		if gitname.Fold(a) != gitname.Fold(b) {
			t.Errorf("%q and %q do not fold to one", a, b)
		}
	}
	if gitname.Fold("a") == gitname.Fold("b") {
		t.Error("a and b fold to one")
	}
}

func TestBranchesThatCannotBeABase(t *testing.T) {
	for _, name := range []string{
		"", "@", "HEAD", "-main", "main.", "a..b", "a@{1}", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "a//b", "/a", "a/", ".a", "a/.b", "a.lock", "a.lock/b", "a\x7f",
		"a\u200bb", "a\xff", strings.Repeat("a", 101), "furrow", "furrow/main", "Furrow/x", "refs/heads/main",
	} {
		if gitname.BaseFault(name) == "" {
			t.Errorf("%q passes", name)
		}
	}
	for _, name := range []string{"main", "master", "release/1.2", "furrows", "a/furrow", "ä", strings.Repeat("a", 100)} {
		if fault := gitname.BaseFault(name); fault != "" {
			t.Errorf("%q %s", name, fault)
		}
	}
}
