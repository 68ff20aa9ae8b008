package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// notInYAML are characters that JSON may have as they are, and YAML may not.
var notInYAML = regexp.MustCompile("[\u007f-\u009f\ufeff\ufffe\uffff]")

// YAML writes a value as YAML, whatever characters the text in it has.
func YAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(notInYAML.ReplaceAllFunc(data, func(char []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(char))[0])
	}))
}
