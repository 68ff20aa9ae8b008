package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// FluxFailure is what kustomize-controller says of a Kustomization that it could not reconcile.
type FluxFailure struct {
	Kustomization struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"Kustomization"`
	// Message says what failed, Error why.
	Message string `json:"msg"`
	Error   string `json:"error"`
}

// FluxFailures returns all failures in the log of kustomize-controller, oldest first; none where
// Flux never ran. Unlike a condition, which the next attempt overwrites, nothing is missing in it.
func (c *Cluster) FluxFailures() ([]FluxFailure, error) {
	log := filepath.Join(c.Dir, "logs", string(KustomizeController)+".log")
	failures, err := c.failures.all(log, func(line []byte) (failure FluxFailure, keep bool, err error) {
		if line[0] != '{' {
			return failure, false, nil // not all that it is made of writes JSON
		}
		err = json.Unmarshal(line, &failure)
		return failure, failure.Error != "" && failure.Kustomization.Name != "", err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the log of Flux on cluster %s: %w", c.Name, err)
	}
	return failures, nil
}
