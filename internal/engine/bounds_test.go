package engine_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/git"
)

func TestWhatIsWrittenOfAPlanIsWhatIsReadOfOne(t *testing.T) {
	if git.PlanBounds.File != plan.MaxFileSize || git.PlanBounds.Total != plan.MaxSize {
		t.Errorf("read are %+v, written %d and %d", git.PlanBounds, plan.MaxFileSize, plan.MaxSize)
	}
}
