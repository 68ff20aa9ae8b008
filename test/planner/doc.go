// Package planner measures planning: ordering alone, beside that of cli-utils on the same objects;
// from the bytes of manifests to the tree of a plan; one seed for many clusters; many seeds.
//
// Times are processor time, of the user and of the system, so they depend little on what else the
// machine does; memory is the most that a process had. The program is measured as people run it.
// cli-utils is measured by a program in a module of its own, so its dependencies are not Furrow's.
package planner
