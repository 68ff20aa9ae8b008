package template_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// hostileTexts are texts as a seed may have them, by what they would do in a proposal or a commit message.
var hostileTexts = map[string]string{
	"end the code span":      "x`<img src=//evil.example/x>`y",
	"end it with two":        "x``y```z`",
	"break the table":        "a | b | c",
	"begin a line":           "a\n\n# heading\r\n- item",
	"make HTML":              "<script>alert(1)</script><!-- x",
	"mention people":         "@all and @org/team",
	"close an issue":         "closes #1, fixes owner/repo#2, resolves !3, closes GH-4, fixes gh-5",
	"close it by URL":        "closes https://forge.example/owner/repo/issues/1",
	"name a commit":          "0123456789abcdef0123456789abcdef01234567",
	"skip CI":                "[skip ci] [ci skip] [no ci]",
	"turn the text":          "abc\u202ecba\u2066x",
	"write on the terminal":  "\x1b]0;title\x07\x1b[2J",
	"be no text":             "\xff\xfe\x00",
	"write a trailer":        "x\nFurrow-Superseded: yes\nFurrow-Digest: y",
	"link":                   "[a](javascript:b) ![c](d)",
	"be very long":           strings.Repeat("ü", 10_000),
	"hide the end of a span": "\u200b`\u200b",
}

// acts finds what would still act in a commit message or outside of a code span.
var acts = regexp.MustCompile(`(?i)@\w|#\d|!\d|gh-\d|://|\[(skip|ci|no)|\]\(`)

func TestTextFromSeedsHasNoMeaningInProposals(t *testing.T) {
	for name, text := range hostileTexts {
		t.Run(name, func(t *testing.T) {
			code := template.Code(text)
			inside := strings.TrimSuffix(strings.TrimPrefix(code, "`"), "`")
			if code != "`"+inside+"`" || inside == "" || strings.ContainsAny(inside, "`|\n\r\x1b\x00\u202e\u2066") {
				t.Errorf("%q is not one code span", code)
			}
			if found := acts.FindString(inside); found != "" && found != "](" {
				t.Errorf("%q still acts: %q", code, found)
			}
			if len(code) > 6*600 {
				t.Errorf("it has %d bytes", len(code))
			}
		})
	}
}

func TestCodeShowsOrdinaryTextAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"core/ConfigMap/default/a":        "`core/ConfigMap/default/a`",
		"system:controller:job":           "`system:controller:job`",
		"high-availability/spec.list[0]!": "`high-availability/spec.list[0]!`",
		" kind: Widget.example.org ":      "`kind: Widget.example.org`",
		"annotation a/b_c: *x* (why) \"y": "`annotation a/b_c: *x* (why) \"y`",
	} {
		if got := template.Code(text); got != want {
			t.Errorf("Code(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestProposalsShowHostileTextAsCode renders both the built-in text and one of a person who escapes nothing.
func TestProposalsShowHostileTextAsCode(t *testing.T) {
	own := "{{ .Verb }}\n{{ range .Changes }}{{ range .Objects }}{{ .Object }} {{ .Note }}{{ range .Fields }}{{ .Path }} {{ .Was }} {{ .Is }}{{ end }}\n{{ end }}{{ end }}{{ range .Leaving }}{{ . }}\n{{ end }}{{ range .Before }}{{ .Tier }} {{ .Why }}\n{{ end }}{{ range .Next }}{{ .Why }}\n{{ end }}{{ .Commit.Subject }} {{ .Commit.Author }}\n"
	for name, text := range hostileTexts {
		for _, source := range []string{templates.Proposal, own} {
			t.Run(name, func(t *testing.T) {
				vars := proposal()
				code := template.Code(text)
				vars.Changes = []template.Changes{{Objects: []template.Change{{What: "changed", Object: code, Count: 1, Note: code, Fields: []template.Field{{Path: code, Was: code, Is: code}}}}}}
				vars.Leaving, vars.Next = []string{code}, []template.Step{{Tier: "edge tier 02", Why: code}}
				vars.Before = []template.Step{{Tier: "edge tier 00", Why: code}}
				vars.Commit = template.Commit{ID: "0123", Subject: code, Author: code}
				_, body, err := template.RenderProposal(template.Text{Name: "t", Text: source}, vars)
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(body, code); n != 10 {
					t.Errorf("the code span is %d times in\n%s", n, body)
				}
			})
		}
	}
}

func TestOddRevisionsAreCode(t *testing.T) {
	for text, want := range map[string]string{
		"main@sha1:0123456789abcdef": "main@sha1:0123456789abcdef",
		"seeds/web.yaml":             "seeds/web.yaml",
		"release/v1.2":               "release/v1.2",
		"@all@sha1:01":               "`@\u200ball@\u200bsha1:01`",
		"x`<img>#1@sha1:01":          "`x\\x60<img>#\u200b1@\u200bsha1:01`",
		"":                           "",
	} {
		if got := template.Ordinary(text); got != want {
			t.Errorf("Ordinary(%q) = %q, want %q", text, got, want)
		}
	}
}
