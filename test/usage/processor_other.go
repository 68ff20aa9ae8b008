//go:build !unix

package usage

import "time"

// Processor is not known on this system.
func Processor() time.Duration { return 0 }
