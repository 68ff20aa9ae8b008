// Package templates holds the texts that Furrow renders by default. A Template
// document of the control plane replaces one.
package templates

import _ "embed"

// FluxKustomization is the reconciler object of a tier.
//
//go:embed flux-kustomization.yaml.tmpl
var FluxKustomization string

// Proposal is title (the first line) and body of a proposal.
//
//go:embed proposal.md.tmpl
var Proposal string

// Terminal is a proposal as a terminal shows it.
//
//go:embed proposal.txt.tmpl
var Terminal string

// Labels are those of a proposal, one on each line.
//
//go:embed labels.txt.tmpl
var Labels string
