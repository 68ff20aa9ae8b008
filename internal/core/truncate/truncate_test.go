package truncate_test

import (
	"testing"
	"unicode/utf8"

	"github.com/furrow-dev/furrow/internal/core/truncate"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"fits", 4, "fits"},
		{"does not fit", 8, "does …"},
		{"äöü äöü", 8, "äö…"},
		{"äöü äöü", 7, "äö…"},
		{"\xff\xfe\xfd\xfc\xfb\xfa", 5, "\xff\xfe…"},
	} {
		got := truncate.Text(tc.text, tc.most)
		if got != tc.want || len(got) > tc.most {
			t.Errorf("%q in %d bytes: got %q, want %q", tc.text, tc.most, got, tc.want)
		}
	}
}

func TestALineHasSingleSpaces(t *testing.T) {
	if got := truncate.Line(" one\r\n\ttwo\x1bthree\x00 ", 100); got != "one two three" {
		t.Errorf("got %q", got)
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add("äöü€", 4)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(most, 0)
		got := truncate.Prefix(text, most)
		if len(got) > most || text[:len(got)] != got {
			t.Errorf("%q in %d bytes: got %q", text, most, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q in %d bytes: got half a character in %q", text, most, got)
		}
	})
}
