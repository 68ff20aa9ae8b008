package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
)

// pages are what Gitea's pages have besides its own templates. Its Go module has neither styles nor
// scripts, and without these the merge button is missing.
//
//go:embed pages
var pages embed.FS

// customizePages gives Gitea the pages, which it reads when it starts. They are readable for the
// user that it runs as.
func (d *demonstration) customizePages(ctx context.Context) error {
	tree, err := fs.Sub(pages, "pages")
	if err == nil {
		err = os.CopyFS(d.folder.path("gitea", "custom"), tree)
	}
	if err != nil {
		return fmt.Errorf("lay out Gitea's pages: %w", err)
	}
	return d.gitea.Restart(ctx)
}
