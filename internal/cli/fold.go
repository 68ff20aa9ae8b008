package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// minFold is how many equal clusters are shown as one: two are as short by themselves.
	minFold = 3
	// minRun is how many clusters that follow each other are named by the first and the last.
	minRun = 5
	// maxRuns is how many runs of clusters a line names.
	maxRuns = 8
	// anyCluster represents the name of each cluster of a fold; in a command it is anyArgument, because
	// a shell would take the former for a redirection.
	anyCluster  = "<cluster>"
	anyArgument = "CLUSTER"
)

// command is a command in a text.
var command = regexp.MustCompile("'(?:kubectl )?furrow [^'\n]*'|`(?:kubectl )?furrow [^`\n]*`|\\bgit diff .*")

// withCommands returns the text of a fold with commands that a shell takes as they are.
func withCommands(text string) string {
	return command.ReplaceAllStringFunc(text, func(c string) string { return strings.ReplaceAll(c, anyCluster, anyArgument) })
}

// ofCluster is a text about one cluster. Where a caller puts parts of it on lines or into cells of
// their own, they are separated by control characters (NUL and SOH), so they are folded as
// one.
type ofCluster struct{ cluster, text string }

// fold is what several clusters have in common: their names, as a clusterSet has them; the text, with
// anyCluster instead of the name; and the indexes of the texts that are folded. Of a single cluster
// it is the text as it is.
type fold struct {
	on, text string
	members  []int
}

// folded joins texts that are equal but for the name of the cluster, in the order of the first of
// each. all are the clusters among which the ones of a fold are named. Where whole, nothing is joined.
//
// A fleet of a thousand equal clusters is then one line. The whole texts are compared, with
// messages and not just states, so a line is true of each of its clusters. A tier that waits
// for another one on its own cluster folds with its like on other clusters. The cost is linear in
// the texts.
func folded(all clusterSet, texts []ofCluster, whole bool) []fold {
	if whole {
		return foldedFrom(len(texts)+1, all, texts)
	}
	return foldedFrom(minFold, all, texts)
}

// foldedFrom joins texts as folded does, where at least so many are equal.
func foldedFrom(least int, all clusterSet, texts []ofCluster) []fold {
	groups := map[string][]int{}
	keys := make([]string, len(texts))
	for i, t := range texts {
		keys[i] = general(t)
		groups[keys[i]] = append(groups[keys[i]], i)
	}
	var out []fold
	done := map[string]bool{}
	for i, t := range texts {
		key := keys[i]
		members := groups[key]
		switch {
		case len(members) < least:
			out = append(out, fold{t.cluster, t.text, []int{i}})
		case !done[key]:
			done[key] = true
			names := make([]string, len(members))
			for j, m := range members {
				names[j] = texts[m].cluster
			}
			out = append(out, fold{all.on(names), withCommands(key), members})
		}
	}
	return out
}

// general returns a text with anyCluster instead of its cluster's name, where that is a separate
// word: of cluster "a" the name is replaced in "waits for a/00", and kept in "a-b" and "apps".
func general(t ofCluster) string {
	var b strings.Builder
	rest := t.text
	for t.cluster != "" {
		before, after, found := strings.Cut(rest, t.cluster)
		if !found {
			break
		}
		b.WriteString(before)
		if partOfWord(b.String(), true) || partOfWord(after, false) {
			b.WriteString(t.cluster)
		} else {
			b.WriteString(anyCluster)
		}
		rest = after
	}
	return b.String() + rest
}

// namesIn returns those of some names that a text has as separate words, each once, in the order of
// the text.
func namesIn(text string, names map[string]bool) []string {
	var out []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r > unicode.MaxASCII || !partOfWord(string(r), false) }) {
		if names[word] && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// partOfWord reports whether the end of a text, or its beginning, belongs to a name: letters,
// digits and hyphens do, as in a DNS label.
func partOfWord(text string, end bool) bool {
	if text == "" {
		return false
	}
	c := text[0]
	if end {
		c = text[len(text)-1]
	}
	return c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// runsOf names clusters, those that follow each other among all as in "c01 … c20". A run is one of
// sorted names without any other cluster of the fleet between them, so it can be read without
// the list of the fleet. Names beyond maxRuns are counted.
func runsOf(names, all []string) string {
	names, all = slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(all))
	names = slices.Compact(names)
	var runs []string
	count := 0
	for i := 0; i < len(names); {
		j := i
		at, known := slices.BinarySearch(all, names[i])
		for known && j+1 < len(names) && at+1 < len(all) && all[at+1] == names[j+1] {
			j, at = j+1, at+1
		}
		if j-i < minRun-1 {
			j = i
			runs = append(runs, names[i])
		} else {
			runs = append(runs, names[i]+" … "+names[j])
		}
		if len(runs) <= maxRuns {
			count += j - i + 1
		}
		i = j + 1
	}
	if len(runs) > maxRuns {
		return fmt.Sprintf("%s and %d more", strings.Join(runs[:maxRuns], ", "), len(names)-count)
	}
	return strings.Join(runs, ", ")
}
