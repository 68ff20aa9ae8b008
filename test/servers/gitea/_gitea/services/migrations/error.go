// Package migrations migrates from plain Git repositories only: the clients of other forges are not
// built in.
package migrations

import "errors"

// ErrRepoNotCreated says that the repository that is migrated to is not created.
var ErrRepoNotCreated = errors.New("repository is not created yet")

// IsRateLimitError recognises the error of a client that is not built in.
func IsRateLimitError(error) bool { return false }

// IsTwoFactorAuthError recognises the error of a client that is not built in.
func IsTwoFactorAuthError(error) bool { return false }
