// Package cli has the commands of furrow and of kubectl furrow: their flags, what they print, and
// their exit codes. What a command does is done elsewhere, and what it decides too.
//
// There are two front ends, and Main chooses by the name that the program was called by:
//
//	furrow          sessionFlags ─▶ controlplane.Session ─▶ engine
//	kubectl furrow  kubeFlags    ─▶ kubeCluster          ─▶ Seeds and Plantings
//	                                  both ─▶ state.State, plan.Plan ─▶ one view of each ─▶ outputFlag
//
// A command of kubectl furrow that has to read repositories opens a session as well, with the
// options that the resources name (kubeSession). What both front ends show they show by the same
// code: statusView, planTable, planDiff, explanationTable and abandonTable. Files are named after
// commands; those of kubectl furrow begin with kube_, views with view_.
//
// What holds:
//
//   - A flag's value is checked where it is parsed (checkedFlag), and so is that of a variable of
//     the environment (checkEnvironment). Behind that, no command meets a value that it cannot use.
//   - Everything written goes through a printer, so text of people cannot act on a terminal.
//     YAML, JSON and a page's own colours go round it, by raw.
//   - Nothing is cut to fit a terminal: cells are wrapped. Clusters that are equal are one line
//     (folded), and objects that are many are counted; -o wide shows each, and -o yaml and -o json
//     always do.
//   - An error says what to do next. Exit codes follow from the kind of error (executeRoot), not
//     from where it came up.
//   - kubectl furrow writes nothing but Seeds, by patches of single fields.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/internal/plugin"
	"github.com/furrow-dev/furrow/internal/render/kustomize"
)

// Exit codes. They are part of the interface and do not change.
const (
	exitOK = 0
	// exitFailed means that the command could not be carried out.
	exitFailed = 1
	// exitUsage means that it was used wrongly.
	exitUsage = 2
	// exitProblems means that it was carried out and found problems in its input.
	exitProblems = 3
	// exitNotReached means that seeds are not in the state that was asked for.
	exitNotReached = 4
)

// errProblems ends a command with exit code 3 that has printed the problems it found. Nothing more
// is printed.
var errProblems = errors.New("problems were found")

// usageError is that a command was called with flags or arguments that it does not support. It ends with exit code
// 2 and points to --help.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

// Reason is that the command was called with flags or arguments that it does not support.
func (e usageError) Reason() string { return string(v1alpha1.ReasonInvalidArgument) }

// Main runs the command that the arguments name and returns its exit code. The name of the program
// says whether kubectl calls it. An interrupt or SIGTERM ends the command's context; a second one
// ends the process.
//
// Builds of kustomizations, and plugins, run in processes of the same binary, so Main first finds
// out whether it is one of those.
func Main(program string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if worker, code := kustomize.Worker(program, args, stdin, stdout); worker {
		return code
	}
	if worker, code := plugin.Worker(program, args, stdin, stdout); worker {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if args, called := kubeCalled(program, args); called {
		return executeRoot(ctx, newKubectl(connect), args, stdin, stdout, stderr)
	}
	return execute(ctx, args, stdin, stdout, stderr)
}

// execute is Main of furrow, without signals.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return executeRoot(ctx, newRoot(), args, stdin, stdout, stderr)
}

// executeRoot runs a command of a root and makes an exit code of its error, which it prints. cobra
// itself prints none.
func executeRoot(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stdout, stderr = printer{stdout}, printer{stderr}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	// cobra would print help for a shell that it does not know, and end well.
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = noSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range completion.Commands() {
			shell.Args = exactly(0, "no arguments")
		}
	}
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errProblems):
		return exitProblems
	case errors.Is(err, errUnderWay):
		return exitNotReached
	}
	fmt.Fprintln(stderr, root.DisplayName()+": "+err.Error())
	if _, usage := errors.AsType[usageError](err); usage {
		fmt.Fprintln(stderr, "Run the command with --help for its usage.")
		return exitUsage
	}
	if _, late := errors.AsType[notReachedError](err); late {
		return exitNotReached
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "furrow",
		Short: "Plant workloads on fleets of Kubernetes clusters, tier by tier, through Git",
		Long: `Furrow works out which object of a seed belongs on which cluster and what must be
ready before it, proposes each tier to a GitOps repository, and releases the next
tier when the clusters run what was merged and are healthy.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 problems found in the input,
4 a state is not reached.`,
		Example: `  furrow demo --merge
  helm template web ./chart | furrow plan -n web -f -
  furrow run --control-plane ./control-plane --simulate`,
	}
	finishRoot(root, groups())
	return root
}

// finishRoot gives a root its commands, and what both roots have in common: errors of use that name
// the next step, the check of variables of the environment before every command, and completion
// without files except where a flag asks for them.
func finishRoot(root *cobra.Command, groups []group) {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = noSuchCommand
	root.Version = versionString()
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetHelpCommand(newHelp())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkEnvironment(cmd) }
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	// Files are completed where a flag or argument is one, and nowhere else.
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	version := newVersion()
	version.Example = "  " + root.DisplayName() + " version -o json"
	root.AddCommand(version)
}

// group is a heading of furrow --help and the commands below it.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups are in the order in which people come to need them.
func groups() []group {
	return []group{
		{"Try, and preview (changes nothing of yours):", []*cobra.Command{newDemo(), newPlan(), newGraph(), newLint(), newDiscover()}},
		{"Run:", []*cobra.Command{newRun(), newController()}},
		{"Follow what runs:", []*cobra.Command{newStatus(), newWait(), newExplain(), newVerify(), newReplay()}},
		{"Decide:", []*cobra.Command{newPR(), newRetry(), newConfirm(), newRollout(), newAbandon(), newAdopt()}},
	}
}

// noSuchCommand checks the arguments of a command that has others below it and takes none. Any
// argument is an error that names the commands most like it.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	path, below := strings.CutPrefix(cmd.CommandPath()+" ", cmd.Root().DisplayName()+" ")
	if !below {
		path = ""
	}
	message := fmt.Sprintf("there is no command %q", path+args[0])
	cmd.SuggestionsMinimumDistance = 2
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		message += fmt.Sprintf(". Did you mean %s?", alternatives(names))
	}
	return usageError{errors.New(message)}
}

// newHelp is cobra's command help, except that an unknown command is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(of, rest)
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
	}
}

// exactly is cobra.ExactArgs as a usage error that says what is missing. A command without
// arguments that has -f gets a hint: people write the file as an argument.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			message := fmt.Sprintf("'%s' takes %s", cmd.CommandPath(), what)
			if n == 0 && cmd.Flags().Lookup("file") != nil {
				message += fmt.Sprintf("; a file or directory is given with -f %s", args[0])
			}
			return usageError{errors.New(message)}
		}
		return nil
	}
}

// sessionFlags are the flags of commands that open a control plane. add registers those that all of
// them have, addOwner and addStrict what some have in addition. One value belongs to one command.
type sessionFlags struct {
	options controlplane.Options
	// credentials is the directory of --credentials, with one directory for each set.
	credentials string
	// verifyWith and signWith are files with keys.
	verifyWith, signWith string
	// asks reports whether the command asks for something, in the name of the user.
	asks bool
}

// add is for commands that act as, or select, one owner of plans.
func (f *sessionFlags) add(cmd *cobra.Command) {
	f.addTree(cmd)
	flags := cmd.Flags()
	flags.Var(textFlag(&f.options.ID, "", ownerPart), "id", "control-plane id, the first part of the owner of plans, where no ControlPlane document names it (default: the repository's name)")
	flags.Var(textFlag(&f.options.Environment, "default", ownerPart), "environment", "environment, the second part of the owner of plans")
}

// addTree is for commands that only read the tree.
func (f *sessionFlags) addTree(cmd *cobra.Command) {
	flags := cmd.Flags()
	addEnvironmentText(flags, &f.options.ControlPlane, "control-plane", "FURROW_CONTROL_PLANE", "control-plane repository, a URL or a directory; or set FURROW_CONTROL_PLANE (default: this directory, where it has seeds/)", anyText)
	flags.Var(textFlag(&f.options.Branch, "main", branchName), "branch", "branch of the control-plane repository")
	flags.Var(textFlag(&f.options.Path, "", treePath), "path", "directory of the control-plane tree in its repository")
	flags.Var(textFlag(&f.verifyWith, "", existingFile), "verify-with", "file of public keys, an allowed signers file of Git or armored OpenPGP keys: only commits of the control plane that one of them signed are planned, whatever its ControlPlane document says")
	f.addAccess(cmd, "directory with one directory for each set of credentials (files token, or username and password, or githubAppID, githubAppInstallationID and githubAppPrivateKey; identity and known_hosts for SSH; signing.key and signing.passphrase for signed commits; ca.crt; url, which binds the set to it, and which it must have where the control plane is on a server); or set FURROW_CREDENTIALS")
	directories(cmd, "control-plane")
}

// addAccess is for whatever opens repositories: with which credentials, how much is read, and where
// mirrors are.
func (f *sessionFlags) addAccess(cmd *cobra.Command, credentials string) {
	flags := cmd.Flags()
	addEnvironmentText(flags, &f.credentials, "credentials", "FURROW_CREDENTIALS", credentials, existingDirectory)
	allowHTTP(flags, &f.options.AllowHTTP)
	limitFlags(flags, &f.options.Limits)
	addPlugins(cmd, &f.options.Plugins)
	flags.Var(textFlag(&f.options.Cache, "", possibleDirectory), "cache", "directory of the mirrors; may be deleted at any time (default: furrow/mirrors in the user's cache directory)")
	directories(cmd, "credentials", "cache")
}

// allowHTTP is for whatever opens repositories on servers.
func allowHTTP(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-http", false, "open repositories by http:// on other machines too: what is sent there, credentials included, can be read on the way")
}

// addAsking is for commands that ask for something, instead of add.
func (f *sessionFlags) addAsking(cmd *cobra.Command) {
	f.add(cmd)
	f.asks = true
	cmd.Flags().Var(textFlag(&f.signWith, "", existingFile), "sign-with", "private key that the request is signed with, in the place of Furrow's own: an SSH key of type ed25519 or an armored OpenPGP key, whose passphrase is FURROW_SIGNING_PASSPHRASE; its public key is one of spec.signing.requesters of the GitOpsRepo")
}

// addStrict is for commands that plan.
func (f *sessionFlags) addStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.options.Strict, "strict", false, "make an error of a namespace or kind that no seed or cluster provides, and of a field that the schema of its kind refuses")
}

// resolved returns the options with the defaults that depend on where the command runs: the current
// directory or one around it as the control plane, if it has seeds, and the user's directory of caches.
// The control plane may be missing still.
func (f *sessionFlags) resolved() (controlplane.Options, error) {
	options := f.options
	if options.ControlPlane == "" {
		options.ControlPlane = around(".", catalog.SeedsDir) // the user is in it
	}
	options.ControlPlane, options.Path = inRepository(options.ControlPlane, options.Path)
	if f.credentials != "" {
		options.Credentials = controlplane.Directory(f.credentials)
	}
	if f.verifyWith != "" {
		data, err := os.ReadFile(f.verifyWith)
		if err == nil {
			options.VerifyWith, err = signature.Parse(string(data))
		}
		if err != nil {
			return options, usageError{fmt.Errorf("--verify-with %s: %w", f.verifyWith, err)}
		}
	}
	if f.signWith != "" {
		data, err := os.ReadFile(f.signWith)
		if err == nil {
			options.SignWith, err = signature.NewSigner(data, []byte(os.Getenv("FURROW_SIGNING_PASSPHRASE")), time.Now())
		}
		if err != nil {
			return options, usageError{fmt.Errorf("--sign-with %s: %w", f.signWith, err)}
		}
	}
	if options.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return options, fmt.Errorf("there is no cache directory: %w; name one with --cache", err)
		}
		options.Cache = filepath.Join(dir, "furrow", "mirrors")
	}
	return options, nil
}

// around returns a directory, or the nearest one around it, that has an entry of some name; empty if none has.
func around(dir, entry string) string {
	absolute, err := filepath.Abs(dir)
	for at := absolute; err == nil; at, dir = filepath.Dir(at), filepath.Join(dir, "..") {
		if _, missing := os.Stat(filepath.Join(at, entry)); missing == nil {
			return dir
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return ""
}

// inRepository returns the repository that a directory is in, and the path of the tree there, as git finds it.
// Everything else is returned as it is: a URL, a repository, a directory outside of any.
func inRepository(at, path string) (repository, tree string) {
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() || isBare(at) {
		return at, path
	}
	root := around(at, ".git")
	if root == "" || root == at {
		return at, path
	}
	below, err := filepath.Rel(root, at)
	if absolute, failed := filepath.Abs(at); err != nil && failed == nil {
		if top, failed := filepath.Abs(root); failed == nil {
			below, err = filepath.Rel(top, absolute)
		}
	}
	if err != nil {
		return at, path
	}
	return root, filepath.ToSlash(filepath.Join(below, path))
}

// named is resolved for commands that cannot do without a control plane.
func (f *sessionFlags) named() (controlplane.Options, error) {
	options, err := f.resolved()
	if err == nil && options.ControlPlane == "" {
		err = usageError{errors.New("no control-plane repository is given: use --control-plane, or set FURROW_CONTROL_PLANE")}
	}
	return options, err
}

// open opens the session; the caller closes it.
func (f *sessionFlags) open(ctx context.Context) (*controlplane.Session, error) {
	options, err := f.named()
	if err != nil {
		return nil, err
	}
	if f.asks {
		options.Asker = person(ctx)
	}
	return controlplane.Open(ctx, options)
}

// with opens the session for a command and closes it again.
func (f *sessionFlags) with(do func(cmd *cobra.Command, s *controlplane.Session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := f.open(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		return do(cmd, s, args)
	}
}
