package seed

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/state"
)

func TestTextFromSeedsIsEscapedInEvents(t *testing.T) {
	recorder := events.NewFakeRecorder(8)
	was, is := &v1alpha1.PlantingStatus{}, &v1alpha1.PlantingStatus{}
	is.Tiers = []v1alpha1.PlantingTier{{Ordinal: 1, State: "Held", Message: "waits for a\x1b[31m\u202eb\nsecond line " + strings.Repeat("\x00", 2000)}}
	for _, h := range plantingChanges(was, is) {
		h.emitForPlanting(recorder, &v1alpha1.Planting{})
	}
	requestFailed("retry", errors.New("no\x07\nway")).emit(recorder, &v1alpha1.Seed{})
	close(recorder.Events)
	var got []string
	for text := range recorder.Events {
		got = append(got, text)
		if strings.ContainsAny(text, "\x1b\u202e\n\x00\x07") || len(text) > state.MaxText+100 {
			t.Errorf("%q", text)
		}
	}
	if len(got) != 2 || !strings.Contains(got[0], `waits for a\x1b[31m\u202eb; second line \x00`) || !strings.Contains(got[1], `no\a; way`) {
		t.Errorf("the events are %q", got)
	}
}
