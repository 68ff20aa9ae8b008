package manifest

import "encoding/json"

// YAML writes a value as YAML in the layout of objects, whatever characters the text in it has.
func YAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoded, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	var e emitter
	fields, _ := decoded.(map[string]any)
	items, _ := decoded.([]any)
	switch {
	case len(fields) > 0:
		e.mapping(fields, 0, false)
	case len(items) > 0:
		e.list(items, 0, false)
	default:
		e.scalar(decoded, 0)
	}
	return []byte(e.String()), e.err
}
