package odb

// OpenOn opens a database in dir that writes to given files.
func OpenOn(files Files, dir string, options Options) (*DB, error) {
	return openOn(files, dir, options)
}

// OSFiles are the files below a directory.
func OSFiles(dir string) Files { return osFiles(dir) }
