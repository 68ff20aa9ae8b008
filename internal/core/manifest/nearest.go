package manifest

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest orders names by how much they are like one, the most first: those that it
// is the beginning of, then by Distance.
func Nearest(name string, names []string) []string {
	rank := func(other string) int {
		if strings.HasPrefix(other, name) {
			return 0
		}
		return Distance(name, other)
	}
	out := slices.Clone(names)
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return out
}

// farApart is by how many bytes two names differ in length that nobody mistakes for each other.
const farApart = 64

// Distance counts the bytes to insert, delete or replace to make b of a (Levenshtein). For names that
// are farApart it is the difference of their lengths: people may write a key of a megabyte. It keeps one
// row of the usual table: diagonal is the value of the row before, at the column before.
func Distance(a, b string) int {
	if longer := max(len(a), len(b)) - min(len(a), len(b)); longer > farApart {
		return longer
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
