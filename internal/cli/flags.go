package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
)

// checkedFlag is a pflag.Value whose text is checked where it is parsed, so a wrong one is an
// error of use that names the flag, and not something that fails later in a pass. text is what was
// set last, or the default; it changes only with the value that parse keeps.
type checkedFlag struct {
	text string
	// kind is what --help calls the value.
	kind string
	// parse checks a text and keeps its value.
	parse func(text string) error
}

// Set implements pflag.Value.
func (f *checkedFlag) Set(text string) error {
	err := f.parse(text)
	if err == nil {
		f.text = text
	}
	return err
}

// String implements pflag.Value.
func (f *checkedFlag) String() string { return f.text }

// Type implements pflag.Value.
func (f *checkedFlag) Type() string { return f.kind }

// textFlag returns a flag whose text passes a check. It may be empty where its default is.
func textFlag(to *string, value string, check func(string) error) *checkedFlag {
	*to = value
	return &checkedFlag{text: value, kind: "string", parse: func(text string) error {
		if text != "" || value != "" {
			if err := check(text); err != nil {
				return err
			}
		}
		*to = text
		return nil
	}}
}

// listFlag returns a flag with texts that each pass a check, separated by commas. It may be given
// more than once.
func listFlag(to *[]string, check func(string) error) *checkedFlag {
	return &checkedFlag{kind: "strings", parse: func(text string) error {
		for one := range strings.SplitSeq(text, ",") {
			if err := check(one); err != nil {
				return err
			}
			*to = append(*to, one)
		}
		return nil
	}}
}

// numberFlag returns a flag that is a number within bounds.
func numberFlag(to *int, value, least, most int) *checkedFlag {
	*to = value
	return &checkedFlag{text: strconv.Itoa(value), kind: "int", parse: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a number from %d to %d", least, most)
		}
		*to = n
		return nil
	}}
}

// durationFlag returns a flag that is a duration within bounds.
func durationFlag(to *time.Duration, value, least, most time.Duration) *checkedFlag {
	*to = value
	return &checkedFlag{text: shortDuration(value), kind: "duration", parse: func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("must be a number with a unit, such as 30s or 5m")
		}
		if d < least || d > most {
			return fmt.Errorf("must be from %s to %s", shortDuration(least), shortDuration(most))
		}
		*to = d
		return nil
	}}
}

// shortDuration leaves out the units that are zero.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// leastInterval is the shortest pause between passes: shorter ones only burden the servers, because
// changes on clusters start a pass at once. It is a variable for tests.
var leastInterval = time.Second

// mostInterval is the longest pause between passes.
const mostInterval = 24 * time.Hour

func addInterval(flags *pflag.FlagSet, to *time.Duration, value time.Duration, usage string) {
	flags.Var(durationFlag(to, value, leastInterval, mostInterval), "interval", usage)
}

func addDeletionGuard(flags *pflag.FlagSet, to *int, confirm string) {
	flags.Var(numberFlag(to, release.DefaultDeletionGuard, 0, 100), "deletion-guard", "percent of all plantings that may be removed at once without '"+confirm+"'")
}

// anyText is the check of a flag that is checked where it is used.
func anyText(string) error { return nil }

// oneOf is the check of a flag that has few values.
func oneOf(values ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(values, text) {
			return nil
		}
		return errors.New("must be " + alternatives(values))
	}
}

// alternatives lists values as in "table, yaml or json".
func alternatives(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// existingDirectory is the check of a directory that is read.
func existingDirectory(name string) error { return existing(name, "directory", "file") }

// existingFile is the check of a file that is read.
func existingFile(name string) error { return existing(name, "file", "directory") }

func existing(name, wanted, other string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the %s does not exist", wanted)
	case err != nil:
		return err
	case info.IsDir() != (wanted == "directory"):
		return fmt.Errorf("must be a %s, not a %s", wanted, other)
	}
	return nil
}

// possibleDirectory is the check of a directory that is made where it is missing.
func possibleDirectory(name string) error {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return errors.New("must be a directory, not a file")
	}
	return nil
}

// possibleFile is the check of a file that is made where it is missing.
func possibleFile(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return errors.New("must be a file, not a directory")
	}
	return nil
}

// dnsLabel is the check of a name that Kubernetes must accept, of a namespace, a seed or a cluster.
func dnsLabel(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return errors.New("must be a DNS label: at most 63 of a-z, 0-9 and -, with a letter or digit first and last")
	}
	return nil
}

// tierName is the check of a tier of a seed that the command names elsewhere.
func tierName(name string) error {
	_, err := layout.ParseTier("", name)
	return err
}

// branchName is the check of a branch.
func branchName(name string) error { return git.CheckRef(name) }

// ownerPart is the check of one part of an owner of plans, which is part of names of branches.
func ownerPart(name string) error {
	if catalog.CheckOwnerPart("", name) != nil {
		return errors.New("must be at most 100 letters, digits, '-', '_' and '.', and begin and end with a letter or digit")
	}
	return nil
}

// ownerOfPlans is the check of an owner.
func ownerOfPlans(name string) error {
	id, environment, _ := strings.Cut(name, "/")
	if ownerPart(id) != nil || ownerPart(environment) != nil {
		return errors.New("must be a control-plane id and an environment, such as platform/prod")
	}
	return nil
}

// originDigits is the check of an origin as it is shown.
func originDigits(name string) error {
	if strings.Trim(name, "0123456789abcdef") != "" {
		return errors.New("must be hexadecimal digits, as 'furrow adopt' shows them")
	}
	return nil
}

// treePath is the check of a directory in a repository.
func treePath(name string) error {
	if !fs.ValidPath(path.Clean(name)) {
		return errors.New("must be a path from the repository's root, without .. and without a slash at its start")
	}
	return nil
}

// bindAddress is the check of an address to serve on; 0 is for none.
func bindAddress(address string) error {
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("must be host:port, such as :8080 or 127.0.0.1:8080, or 0 for none")
	}
	return nil
}

// timeLimit is the check of a limit as kubectl takes it: 0 for none, and seconds without a unit.
func timeLimit(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < 0 {
		return errors.New("must be a duration, such as 10s, or 0 for no limit")
	}
	return nil
}

// environmentAnnotation is the annotation of a flag that names the variable of the environment that
// sets its default.
const environmentAnnotation = "furrow.dev/environment-variable"

// addEnvironmentText adds a textFlag whose default a variable of the environment sets. The variable
// is read now and checked by checkEnvironment, because a command must be able to print its help
// whatever the environment holds.
func addEnvironmentText(flags *pflag.FlagSet, to *string, name, variable, usage string, check func(string) error) {
	flags.Var(textFlag(to, os.Getenv(variable), check), name, usage)
	if err := flags.SetAnnotation(name, environmentAnnotation, []string{variable}); err != nil {
		panic(err) // the flag does not exist: a mistake that every test finds
	}
}

// checkEnvironment checks the flags that variables of the environment have set, as far as the
// command has them and its arguments do not set them. pflag does not check defaults. The error
// names the variable and not the flag, which nobody wrote.
func checkEnvironment(cmd *cobra.Command) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		variable := f.Annotations[environmentAnnotation]
		if len(variable) == 0 || f.Changed || failed != nil {
			return
		}
		if err := f.Value.Set(f.DefValue); err != nil {
			failed = usageError{fmt.Errorf("invalid value %q of %s: %w", f.DefValue, variable[0], err)}
		}
	})
	return failed
}
