package docs

import (
	"fmt"
	"regexp"
	"slices"
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
	{`turn(s|ed|ing)? ([a-z]+ ){0,4}down`, "reject"},
	{`carr(y|ies|ied) on`, "continue"},
	{`slip of the pen`, "typo"},
	{`taken for`, "treated as"},
	{`on end`, "without a break"},
	{`(un)?settl(e|es|ed|ing)`, "resolve, index, finish"},
	{`(one|no|same|other|these|two|three|own|either|each|every|wrong|right|of|its|a) places?`, "position, file, field"},
	{`look(s|ed|ing)? (at|into|for|like|as)`, "read, check, search"},
	{`sees|saw|seeing`, "observe, read"},
	{`doubt(s|ful)?`, "if unknown, suspicion"},
	{`boards?`, "snapshots"},
	{`(is|are|be|keeps?|stays?|goes) quiet|quietly|quiet (time|hours|period|passes)`, "cool-down, without output"},
	{`(is|are|was|were) to be`, "must be, will be"},
	{`of (which|whom)`, "whose, and a sentence of its own"},
	{`, so that`, "so, to"},
	{`so that (it|they|people|you) (can|may)`, "to"},
	{`ways? (in|by) which|in (whatever|any other|a) way|other way round|both ways|way of [a-z]+ing`, "how, path, method"},
	{`(take|takes|took|taken|taking) back`, "withdraw, revert"},
	{`(bring|brings|brought|bringing) ([a-z]+ ){0,4}(into being|up to date)`, "create, update"},
	{`(seeds?|nobody|somebody) (bring|brings|brought)`, "contains"},
	{`, for (it|they|he|there)`, "because"},
}

// unwanted matches any of the words.
var unwanted = func() *regexp.Regexp {
	patterns := make([]string, len(words))
	for i, w := range words {
		patterns[i] = bounded(w.pattern)
	}
	return regexp.MustCompile(`(?i)` + strings.Join(patterns, "|"))
}()

// bounded lets a pattern match whole words.
func bounded(pattern string) string {
	if strings.HasPrefix(pattern, ",") {
		return `(?:` + pattern + `)\b`
	}
	return `\b(?:` + pattern + `)\b`
}

// allowed is what a page quotes, and where "no" is plain.
var allowed = regexp.MustCompile("`[^`]*`|(?i)there (is|are) no|no longer|--quiet|look(s|ed|ing)?[ -]ups?|IsNoMatchError|Is No Match Error")

func TestTheDocumentationUsesPlainWords(t *testing.T) {
	for _, p := range pages(t) {
		for _, found := range unplain(p.prose()) {
			t.Errorf("%s: %s", p.path, found)
		}
	}
}

// unplain lists the words of a text that have a better one. Lines of one paragraph are one text, to
// find what is wrapped.
func unplain(text string) []string {
	var found []string
	for _, paragraph := range strings.Split(text, "\n\n") {
		rest := allowed.ReplaceAllString(strings.Join(strings.Fields(paragraph), " "), "…")
		for _, at := range unwanted.FindAllStringIndex(rest, -1) {
			word := rest[at[0]:at[1]]
			i := slices.IndexFunc(words, func(w struct{ pattern, instead string }) bool {
				return regexp.MustCompile(`(?i)^` + bounded(w.pattern) + `$`).MatchString(word)
			})
			around := strings.ToValidUTF8(rest[max(0, at[0]-40):min(len(rest), at[1]+40)], "")
			found = append(found, fmt.Sprintf("%q in %q: write %s", word, around, words[i].instead))
		}
	}
	return found
}

func TestWordsThatAreNotPlainAreNoticed(t *testing.T) {
	for _, line := range []string{"It was told so.", "Seeds that Furrow hears of", "It is no DNS label.", "Furrow carries on.", "The hen and the egg", "It\nis to\nbe removed.", "A list, so that it is short"} {
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
