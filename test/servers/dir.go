package servers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ownDir returns the absolute path of a server's folder. It refuses one that holds other things
// than a server's, which is known by its mark.
func ownDir(dir, mark string) (string, error) {
	if dir == "" {
		return "", errors.New("it needs a folder of its own")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find its folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return dir, nil
	} else if err != nil {
		return "", fmt.Errorf("read its folder: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, mark)); err != nil {
		return "", fmt.Errorf("%s holds other things: choose a folder that is empty or not there", dir)
	}
	return dir, nil
}
