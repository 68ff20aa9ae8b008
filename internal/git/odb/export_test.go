package odb

import "context"

// OpenOn opens a database in dir that writes to given files.
func OpenOn(ctx context.Context, files Files, dir string, options Options) (*DB, error) {
	return openOn(ctx, files, dir, options)
}

// OSFiles are the files below a directory.
func OSFiles(dir string) Files { return osFiles(dir) }
