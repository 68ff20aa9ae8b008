package git

import "github.com/furrow-dev/furrow/internal/git/odb"

// The types of a mirror's object database.
type (
	// Hash is the id of an object.
	Hash = odb.Hash
	// Mode is the mode of a tree's entry.
	Mode = odb.Mode
	// Entry is what a tree holds at a path.
	Entry = odb.Entry
	// Person is the author or committer of a commit.
	Person = odb.Person
	// CommitMeta is what a commit says besides its tree and parents.
	CommitMeta = odb.CommitMeta
	// CommitInfo is a commit.
	CommitInfo = odb.CommitInfo
	// Tree is a tree that was written, with every object in it.
	Tree = odb.Tree
	// Edit puts an object at a path, or removes what is there.
	Edit = odb.Edit
	// Grafted is the outcome of a graft.
	Grafted = odb.Grafted
	// TreeMerge says how a change goes into another tree.
	TreeMerge = odb.TreeMerge
	// Refs maps branch names to commits.
	Refs = odb.Refs
)

// The modes that Git knows.
const (
	ModeDir        = odb.ModeDir
	ModeFile       = odb.ModeFile
	ModeExecutable = odb.ModeExecutable
	ModeSymlink    = odb.ModeSymlink
	ModeSubmodule  = odb.ModeSubmodule
)

// BranchPrefix starts the name of every branch that is Furrow's own.
const BranchPrefix = "furrow/"

// ParseHash reads the 40 hexadecimal digits of an object id.
func ParseHash(s string) (Hash, error) { return odb.ParseHash(s) }

// CheckRef says why name cannot be a branch, by the rules of git check-ref-format.
func CheckRef(name string) error { return odb.CheckRef(name) }
