package git

import "github.com/furrow-dev/furrow/internal/git/odb"

// What a mirror's object database is made of; see package odb.
type (
	Hash       = odb.Hash
	Mode       = odb.Mode
	Entry      = odb.Entry
	Person     = odb.Person
	CommitMeta = odb.CommitMeta
	CommitInfo = odb.CommitInfo
	Tree       = odb.Tree
	Edit       = odb.Edit
	Grafted    = odb.Grafted
	TreeMerge  = odb.TreeMerge
	Refs       = odb.Refs
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
