package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxFileName   = 200 // bytes, the extension included
	fileExtension = ".yaml"
	digestDigits  = 8
)

// FileNames gives each object the name of its file, <kind>.<name>.yaml in lower case. Names that
// had to be changed, and names that several objects would share, end in a digest of the object's
// id. The order of the objects makes no difference, and no name is that of a kustomization file.
//
// All that share a name get digits, not only the later ones: the name of an object must not depend
// on which others are read before it. If names still collide, they get twice as many, up to the
// whole digest. Since digits only grow, this ends.
func FileNames(objects []Object) map[ID]string {
	digits := make(map[ID]int, len(objects))
	for _, o := range objects {
		if _, faithful := fileStem(o.ID); !faithful {
			digits[o.ID] = digestDigits
		} else {
			digits[o.ID] = 0
		}
	}
	for {
		names := make(map[ID]string, len(digits))
		sharers := make(map[string][]ID, len(digits))
		for id, n := range digits {
			names[id] = fileName(id, n)
			sharers[names[id]] = append(sharers[names[id]], id)
		}
		if !lengthen(digits, sharers) {
			return names
		}
	}
}

// lengthen gives more digits to the objects that share a name, false when no
// object does that has digits left.
func lengthen(digits map[ID]int, sharers map[string][]ID) bool {
	changed := false
	for _, ids := range sharers {
		if len(ids) == 1 {
			continue
		}
		for _, id := range ids {
			if n := min(max(2*digits[id], digestDigits), 2*sha256.Size); n != digits[id] {
				digits[id], changed = n, true
			}
		}
	}
	return changed
}

// fileName cuts the stem so that the digits of the digest fit.
func fileName(id ID, digits int) string {
	stem, _ := fileStem(id)
	if digits == 0 {
		return stem + fileExtension
	}
	sum := sha256.Sum256([]byte(id.String()))
	digest := hex.EncodeToString(sum[:])[:digits]
	stem = stem[:min(len(stem), maxFileName-len(fileExtension)-1-digits)]
	return strings.TrimRight(stem, "-.") + "-" + digest + fileExtension
}

// fileStem returns the name without extension and digest, and whether it says the whole name as it
// is.
func fileStem(id ID) (stem string, faithful bool) {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, id.Name)
	stem = strings.ToLower(id.Kind) + "." + name
	return stem, name == id.Name && len(stem)+len(fileExtension) <= maxFileName
}
