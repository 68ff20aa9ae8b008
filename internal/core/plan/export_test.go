package plan

// EncodeWithin is Encode with a limit of its own.
func (p *Plan) EncodeWithin(limit int) (map[string][]byte, error) { return p.encode(limit) }

// SamePlan is samePlan.
var SamePlan = samePlan

// AllOf is allOf.
var AllOf = allOf
