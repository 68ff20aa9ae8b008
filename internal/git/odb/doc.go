// Package odb is an object database of Git in a directory: objects, trees, commits, branches. It
// has no remote and opens no connection; package git keeps mirrors of remote repositories in such
// databases. Git can read the directory at any time, and must not write to it.
//
// There is no work tree and no index, and no blob is read to build a commit.
//
// Invariants:
//   - Objects come before the branches that need them, so a branch always has its whole history and all its trees.
//   - Branches move together or not at all: they are one file, packed-refs, that is replaced as a whole (docs/decisions/0015).
//   - Every file is whole or absent. In a durable database, what has returned is there after a power failure.
//   - Objects that no branch reaches stay while somebody uses the database: from Use or Begin until the release or the batch's end.
//
// A Batch keeps objects in memory and writes them as one pack; without one, each object is a file.
// Collect removes what no branch reaches, and packs the rest as differences from version to version
// of each path. Old history goes that way, too: a branch that starts anew at a commit without
// parents leaves its history to the next collection.
//
// A database may be a copy of another repository. A copy can be filled again, so it is emptied
// where another database fails.
//
// Concurrency: a DB may be used by several goroutines. Writing needs no lock, and moving branches
// takes a file lock in the directory. Several processes may open a copy, but only one any other
// database.
package odb
