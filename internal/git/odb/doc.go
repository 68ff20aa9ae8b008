// Package odb is an object database of Git in a directory: objects, trees, commits, branches. It has no remote and opens no connection;
// package git keeps mirrors of remote repositories in such databases.
//
// There is no work tree and no index, and no blob is read to build a commit.
//
// Invariants:
//   - Objects come before the refs that name them, so a ref always has its whole history and all its trees.
//   - Branches change all at once: they are one file, packed-refs, that is replaced as a whole.
//   - Objects that no ref reaches stay while the database is in use: from Open or Use until Release.
//
// Concurrency: a DB may be used by several goroutines, and several processes may open one directory. Objects are written under
// temporary names and renamed, so they need no lock; moving refs takes a file lock in the directory.
package odb
