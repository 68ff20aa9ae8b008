package e2e

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

var (
	renderedLine = regexp.MustCompile(renderedAnnotation + `: .*`)
	// digest is the id of a Git object, or another digest of contents.
	digest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)
)

// readBase reads all files of the base branch as last fetched, without what differs between stories.
func (s *story) readBase() (files, error) { return s.readBranch("main") }

// readBranch is readBase for any branch. Digests are numbered, so only equality within a file remains.
func (s *story) readBranch(branch string) (files, error) {
	content, err := s.gitops.git("archive", "--format=tar", "origin/"+branch)
	if err != nil {
		return nil, err
	}
	all := files{}
	for archive := tar.NewReader(strings.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		same := strings.NewReplacer(s.namespace, "NAMESPACE").Replace(string(text))
		same = renderedLine.ReplaceAllString(same, renderedAnnotation+": …")
		all[strings.ReplaceAll(header.Name, s.namespace, "NAMESPACE")] = numberDigests(same)
	}
}

// numberDigests replaces digests by numbers, in order of appearance.
func numberDigests(text string) string {
	numbers := map[string]string{}
	return digest.ReplaceAllStringFunc(text, func(found string) string {
		if numbers[found] == "" {
			numbers[found] = fmt.Sprintf("digest-%d", len(numbers)+1)
		}
		return numbers[found]
	})
}
