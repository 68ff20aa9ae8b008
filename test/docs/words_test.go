package docs

import (
	"regexp"
	"strings"
	"testing"
)

// words has what the documentation does not say, and what it says instead. A
// pattern is a part of a regular expression that matches whole words in any case.
var words = []struct{ pattern, instead string }{
	{`told|tells?`, "reported, reports, returned"},
	{`heard|hears?`, "received, failed"},
	{`stands?`, "is"},
	{`mend(s|ed)?`, "fix"},
	{`amiss`, "wrong"},
	{`twins?`, "duplicate"},
	{`torn`, "gap"},
	{`swept`, "closed"},
	{`fates?`, "disposition"},
	{`agenda`, "schedule"},
	{`vigour`, "health"},
	{`furnish(es|ed)?`, "provide"},
	{`hourglass`, "timer"},
	{`unsure`, "stale, unknown"},
	{`sights?`, "observation"},
	{`(is|are) no`, "is not a"},
	{`(is|are) due`, "must"},
	{`hen and the egg`, "chicken-and-egg problem"},
	{`turn(s|ed)? down`, "reject"},
	{`carr(y|ies|ied) on`, "continue"},
	{`slip of the pen`, "typo"},
	{`taken for`, "treated as"},
	{`on end`, "without a break"},
}

// unwanted matches any of the words.
var unwanted = func() *regexp.Regexp {
	patterns := make([]string, len(words))
	for i, w := range words {
		patterns[i] = w.pattern
	}
	return wordsLike(strings.Join(patterns, "|"))
}()

func wordsLike(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`) }

// allowed is what a page quotes, and where "no" is plain.
var allowed = regexp.MustCompile("`[^`]*`|(?i)there (is|are) no|no longer|IsNoMatchError|Is No Match Error")

func TestTheDocumentationUsesPlainWords(t *testing.T) {
	for _, p := range pages(t) {
		if p.path == "docs/troubleshooting.md" { // generated from the reasons
			continue
		}
		for _, found := range unplain(p.prose()) {
			t.Errorf("%s: %s", p.path, found)
		}
	}
}

// unplain lists the words of a text that have a better one.
func unplain(text string) []string {
	var found []string
	if !unwanted.MatchString(text) {
		return nil
	}
	for line := range strings.Lines(text) {
		rest := allowed.ReplaceAllString(line, "…")
		for _, w := range words {
			if m := wordsLike(w.pattern).FindString(rest); m != "" {
				found = append(found, `"`+m+`" in "`+strings.TrimSpace(line)+`": write `+w.instead)
			}
		}
	}
	return found
}

func TestWordsThatAreNotPlainAreNoticed(t *testing.T) {
	for _, line := range []string{"It was told so.", "Seeds that Furrow hears of", "It is no DNS label.", "Furrow carries on.", "The hen and the egg"} {
		if len(unplain(line)) == 0 {
			t.Errorf("this passes: %s", line)
		}
	}
	for _, line := range []string{"`told` is quoted.", "There is no seed.", "It is no longer declared.", "It stores the total."} {
		for _, found := range unplain(line) {
			t.Error(found)
		}
	}
}
