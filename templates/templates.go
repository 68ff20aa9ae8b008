// Package templates holds the texts that Furrow renders by default. A Template
// document of the control plane replaces one.
package templates

import _ "embed"

// FluxKustomization is the reconciler object of a tier.
//
//go:embed flux-kustomization.yaml.tmpl
var FluxKustomization string

// Proposal is title (the first line) and body of a proposal and of its commit.
//
//go:embed proposal.md.tmpl
var Proposal string
