package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// ambiguity is something in a document that tools read differently.
type ambiguity struct {
	node *yaml3.Node
	// key is the key of the value; empty if the ambiguous text is itself a key.
	key string
	// elsewhere is what other tools make of it.
	elsewhere string
}

// ambiguousForms are the forms of text that YAML 1.1 and YAML 1.2 read differently. Tools that speak
// YAML 1.1 differ among themselves as well: Kustomize reads words as YAML 1.2 does, and the rest
// as YAML 1.1. The first form counts.
var ambiguousForms = []struct {
	form      *regexp.Regexp
	elsewhere string
}{
	{regexp.MustCompile(`^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$`), "text in YAML 1.2 and in Kustomize"},
	{regexp.MustCompile(`^[-+]?0[0-7_]*[0-7]$`), "a decimal number in YAML 1.2"},
	{regexp.MustCompile(`^[-+]?0[0-9_]*[89][0-9_]*$`), "text in YAML 1.1"},
	{regexp.MustCompile(`^[-+]?0o[0-7_]+$`), "text in YAML 1.1"},
	{regexp.MustCompile(`^[-+]?0b[01_]+$`), "text in YAML 1.2"},
	{regexp.MustCompile(`^[-+]?(?:0x[0-9a-fA-F]*_[0-9a-fA-F_]*|[0-9][0-9_.]*_[0-9_.]*(?:[eE][-+]?[0-9]+)?)$`), "text in YAML 1.2"},
	{regexp.MustCompile(`^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`), "a number to base 60 in YAML 1.1"},
	{regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?$`), "a time in YAML 1.1 and in Kustomize, which writes it in another form"},
	{regexp.MustCompile(`^[-+]?(?:[0-9]+[eE][-+]?[0-9]+|[0-9]*\.[0-9]*[eE][0-9]+)$`), "text in YAML 1.1"},
}

// wholeNumber is an integer in the only form that JSON has.
var wholeNumber = regexp.MustCompile(`^[-+]?[1-9][0-9]*$`)

// What tools make of a tag that no YAML defines, and of a number with too many digits.
const (
	tagDropped = "dropped"
	digitsLost = "a number of more than 64 bits"
)

// elsewhere returns what other tools make of a text without quotes, empty where all agree. JSON has
// one form of numbers, and no bound on their digits.
func elsewhere(text string, isJSON bool) string {
	if text == "" || strings.IndexByte("+-.0123456789yYnNoO", text[0]) < 0 {
		return ""
	}
	if _, small := smallNumber(text); small {
		return ""
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil && wholeNumber.MatchString(text) {
		return digitsLost
	}
	if isJSON {
		return ""
	}
	for _, d := range ambiguousForms {
		if d.form.MatchString(text) && !sameNumber(text) {
			return d.elsewhere
		}
	}
	return ""
}

// sameNumber reports whether a number with a leading zero is the same to base 8 and to base 10.
func sameNumber(text string) bool {
	decimal, err := strconv.ParseInt(text, 10, 64)
	octal, err8 := strconv.ParseInt(text, 8, 64)
	return err == nil && err8 == nil && decimal == octal
}

// readAs says what a text without quotes is to kubectl, Flux and Furrow.
func readAs(text string) string {
	switch value, _ := plainOf(text); value := value.(type) {
	case bool:
		return canonical(value)
	case int64, float64:
		return "the number " + canonical(value)
	}
	return "text"
}

// ambiguities are those of one document, alike ones as one.
type ambiguities struct {
	first []ambiguity
	count map[likeAmbiguity]int
}

// likeAmbiguity is what alike ambiguities have in common.
type likeAmbiguity struct {
	text  string
	isKey bool
}

func (d ambiguity) like() likeAmbiguity { return likeAmbiguity{d.node.Value + d.node.Tag, d.key == ""} }

func (d *ambiguities) add(one ambiguity) {
	if d.count == nil {
		d.count = map[likeAmbiguity]int{}
	}
	if d.count[one.like()]++; d.count[one.like()] == 1 {
		d.first = append(d.first, one)
	}
}

// problems explains the ambiguities about a document. Of a Secret no value is quoted.
func (d *ambiguities) problems(at position, builtin, secret bool) (problems Problems) {
	for _, one := range d.first {
		if builtin && one.isFileMode() {
			continue
		}
		p := at.problem(v1alpha1.ReasonAmbiguousYAML, one.node, one.message(secret), "Quote it if it is meant as text; else write it as all tools read it.")
		if n := d.count[one.like()]; n > 1 {
			p.Message += fmt.Sprintf(" (%d times in the document)", n)
		}
		problems = append(problems, *p)
	}
	return problems
}

// message says how tools read the text.
func (d ambiguity) message(secret bool) string {
	text, here := Printable(d.node.Value), readAs(d.node.Value)
	switch {
	case d.elsewhere == tagDropped:
		return fmt.Sprintf("the tag %s of the value of %s is dropped: kubectl does not know it either", Printable(d.node.Tag), shorten(d.key))
	case d.key == "":
		key, _ := keyText(d.node)
		return fmt.Sprintf("the key %s is not quoted, and tools read it differently: as %s here and in kubectl, as %s", text, shorten(key), d.elsewhere)
	case secret:
		return fmt.Sprintf("the value of %s is not quoted, and tools read it differently", shorten(d.key))
	case d.elsewhere == digitsLost:
		return fmt.Sprintf("the value of %s is %s, %s: it is read as %s, and digits are lost", shorten(d.key), text, digitsLost, here)
	}
	return fmt.Sprintf("the value of %s is written as %s, and tools read it differently: as %s here and in kubectl, as %s", shorten(d.key), text, here, d.elsewhere)
}

// isFileMode reports whether a value is the mode of a file in a volume, which everybody writes to base
// 8, as the documentation of Kubernetes does.
func (d ambiguity) isFileMode() bool {
	return (d.key == "mode" || d.key == "defaultMode") && len(d.node.Value) == len("0644")
}
