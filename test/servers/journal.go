package servers

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sync"
)

// journal reads a log as it grows: each line is read and parsed once, so a test may ask as often as
// it likes. Several may read at once. The log must only grow.
type journal[T any] struct {
	mu      sync.Mutex
	read    int64
	entries []T
}

// all returns the entries of the log at path so far, oldest first. What follows the last end of a
// line is still being written.
func (j *journal[T]) all(path string, understand func(line []byte) (entry T, keep bool, err error)) ([]T, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.NewSectionReader(file, j.read, 1<<40))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(content[:bytes.LastIndexByte(content, '\n')+1]) {
		entry, keep, err := understand(line)
		if err != nil {
			return nil, err
		}
		if keep {
			j.entries = append(j.entries, entry)
		}
		j.read += int64(len(line))
	}
	return slices.Clip(j.entries), nil
}
