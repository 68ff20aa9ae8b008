package e2e

import (
	"archive/tar"
	"errors"
	"io"
	"regexp"
	"strings"
)

var renderedLine = regexp.MustCompile(renderedAnnotation + `: .*`)

// readBase reads all files of the base branch as it was fetched last, with what differs from story to story taken out.
func (s *story) readBase() (files, error) {
	content, err := s.gitops.git("archive", "--format=tar", "origin/main")
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
		all[strings.ReplaceAll(header.Name, s.namespace, "NAMESPACE")] = renderedLine.ReplaceAllString(same, renderedAnnotation+": …")
	}
}
