// Package pull implements forge.Forge by pull requests, for every server that has them. It holds
// all policy: what a closed pull request means, superseding, edits, duplicates of two writers,
// conflicts, gates. A Server is one forge's API as values.
package pull
