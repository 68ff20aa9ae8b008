package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/render"
)

// manifests are the extensions of files that hold manifests.
var manifests = []string{"yaml", "yml", "json"}

const stdinName = "standard input"

// inputFlags say what is read as one seed: -f, -n and --seed.
type inputFlags struct {
	inputs    []string
	namespace string
	seed      string
}

func (f *inputFlags) add(cmd *cobra.Command, does, seed string) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "file", "f", nil, "file or directory to "+does+" as a seed, or - for standard input; may be repeated, for one seed of all")
	files(cmd, "file", manifests...)
	flags.VarP(textFlag(&f.namespace, "", dnsLabel), "namespace", "n", "with -f, namespace of objects that have none")
	flags.Var(textFlag(&f.seed, "", dnsLabel), "seed", seed+"with -f, the name of the seed (default: that of its Seed document, else of the first file)")
}

// given reports whether files are named.
func (f *inputFlags) given() bool { return len(f.inputs) > 0 }

// read reads all that is named as one seed, within the limits. tree is the directory of the control
// plane, if it is one. What is wrong with the files themselves is in the candidate, with positions;
// the error is for what cannot be read at all.
func (f *inputFlags) read(ctx context.Context, stdin io.Reader, limits catalog.Limits, tree string) (catalog.Candidate, error) {
	candidate := catalog.Candidate{Name: f.seed, Namespace: f.namespace, Files: catalog.NewFiles(render.Reading(limits))}
	for _, input := range f.inputs {
		name, add, err := openInput(input, stdin, tree)
		if err != nil {
			return candidate, fmt.Errorf("-f %s: %w", input, withoutPath(err))
		}
		candidate.Fallback = cmp.Or(candidate.Fallback, name)
		candidate.Path = cmp.Or(candidate.Path, shownInput(input))
		if _, err := await(ctx, "reading "+shownInput(input), func() (any, error) { return nil, add(candidate.Files) }); err != nil {
			return candidate, err
		}
	}
	return candidate, nil
}

func shownInput(input string) string {
	if input == "-" {
		return stdinName
	}
	return input
}

// openInput returns the name of a seed that is read from an input, and what reads it. A pipe, such
// as that of a process substitution, is read like standard input: once, and without a name that
// could be the seed's.
func openInput(input string, stdin io.Reader, tree string) (name string, add func(*catalog.Files) error, err error) {
	if input == "-" {
		return "seed", func(files *catalog.Files) error { return addStream(files, stdinName, stdin) }, nil
	}
	info, err := os.Stat(input)
	if err != nil && strings.Contains(input, "://") {
		err = manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: "a URL is not read. Pipe what it has, as in: curl -fsSL URL | furrow plan -f -"}
	}
	if err != nil {
		return "", nil, err
	}
	absolute, err := filepath.Abs(input)
	if err != nil {
		return "", nil, err
	}
	base := filepath.Base(absolute)
	switch shown := shownPath(absolute); {
	case info.IsDir():
		return base, func(files *catalog.Files) error { return addDirectory(files, absolute, tree) }, nil
	case info.Mode().IsRegular():
		return strings.TrimSuffix(base, filepath.Ext(base)), func(files *catalog.Files) error { return addFile(shown, files.Add) }, nil
	default: // a pipe, as of <(helm template …)
		return "seed", func(files *catalog.Files) error {
			return addFile(shown, func(name string, r io.Reader) error { return addStream(files, name, r) })
		}, nil
	}
}

func addFile(input string, add func(string, io.Reader) error) error {
	file, err := os.Open(input)
	if err != nil {
		return err
	}
	defer file.Close()
	return add(input, file)
}

// addStream adds what another command writes. An empty one is a problem: a shell runs furrow also
// if the command before the pipe failed, and its seed would be planned as one without objects.
func addStream(files *catalog.Files, name string, r io.Reader) error {
	if _, again := files.Content[name]; again {
		return usageError{errors.New(name + " can be read only once")}
	}
	err := files.Add(name, r)
	if data, read := files.Content[name]; err == nil && read && len(bytes.TrimSpace(data)) == 0 {
		files.Problems = append(files.Problems, manifest.Problem{Reason: v1alpha1.ReasonEmptySeed, Source: manifest.Source{File: name}, Message: "there is nothing to read",
			Next: "If another command writes it, that command may have failed: read its output."})
	}
	return err
}

// addDirectory adds the manifests of a directory. Links in it may lead as far as they may in a
// control plane, so what is planned here is what a pass would plan.
func addDirectory(files *catalog.Files, input, tree string) error {
	dir, err := filepath.EvalSymlinks(input)
	if err != nil {
		return err
	}
	root := rootOf(dir, tree)
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	return files.AddTree(os.DirFS(root), filepath.ToSlash(rel), func(name string) string {
		return shownPath(filepath.Join(root, filepath.FromSlash(name)))
	})
}

// shownPath returns an absolute path as messages have it: relative where it is below the current
// directory.
func shownPath(absolute string) string {
	here, err := os.Getwd()
	if err != nil {
		return absolute
	}
	resolved, _ := filepath.EvalSymlinks(here)
	for _, dir := range []string{here, resolved} {
		if rel, err := filepath.Rel(dir, absolute); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return absolute
}

// rootOf returns the directory that links of dir may not lead out of: the control plane, else the
// repository that it is in, else dir itself.
func rootOf(dir, tree string) string {
	if tree != "" {
		at, err := filepath.EvalSymlinks(tree)
		if err == nil {
			at, err = filepath.Abs(at)
		}
		if err == nil && (dir == at || strings.HasPrefix(dir, at+string(filepath.Separator))) {
			return at
		}
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// withoutPath is an error without the path that it is about.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// await calls f, and returns when it does or ctx ends. What blocks for ever, as reading from a
// terminal, is then left behind: its goroutine ends with the process, and its result is dropped.
// For commands only, which end soon after.
func await[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s was interrupted: %w", what, context.Cause(ctx))
	}
}

// limitFlags bound what is read.
func limitFlags(flags *pflag.FlagSet, limits *catalog.Limits) {
	flags.Var(sizeFlag(&limits.File, catalog.DefaultMaxFile), "max-file-size", "size of the largest manifest file that is read")
	flags.Var(sizeFlag(&limits.Package, catalog.DefaultMaxPackage), "max-package-size", "size of all manifest files of a seed together")
}

// addPlugins is for whatever reads seeds.
func addPlugins(cmd *cobra.Command, to *string) {
	addEnvironmentText(cmd.Flags(), to, "plugins", "FURROW_PLUGINS", "directory of the executables that a Plugin of the control plane may name; or set FURROW_PLUGINS (default: none, so only WASM modules run)", existingDirectory)
	directories(cmd, "plugins")
}

// sizeFlag returns a flag that is a number of bytes, written as in Kubernetes.
func sizeFlag(to *int64, value int64) *checkedFlag {
	*to = value
	return &checkedFlag{text: resource.NewQuantity(value, resource.BinarySI).String(), kind: "size", parse: func(text string) error {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Value() < 1 || q.Value() > 1<<40 {
			return manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: "must be a size such as 500Ki, 64Mi or 2Gi, and at most 1Ti"}
		}
		*to = q.Value()
		return nil
	}}
}
