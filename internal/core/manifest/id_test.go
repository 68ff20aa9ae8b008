package manifest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseID(t *testing.T) {
	tests := map[string]struct {
		text    string
		want    ID
		wantErr string
	}{
		"a namespaced object has four parts":    {text: "apps/Deployment/web/front", want: ID{"apps", "Deployment", "web", "front"}},
		"a cluster-scoped object has three":     {text: "core/Namespace/web", want: ID{"", "Namespace", "", "web"}},
		"a name may have a colon":               {text: "rbac.authorization.k8s.io/ClusterRole/system:a", want: ID{"rbac.authorization.k8s.io", "ClusterRole", "", "system:a"}},
		"two parts are refused":                 {text: "Namespace/web", wantErr: "neither"},
		"an empty group is refused":             {text: "/Namespace/web", wantErr: "group"},
		"an empty namespace is refused":         {text: "apps/Deployment//web", wantErr: "namespace"},
		"an empty name is refused":              {text: "apps/Deployment/a/", wantErr: "name is empty"},
		"a name that is a path is refused":      {text: "apps/Deployment/a/..", wantErr: "path"},
		"a kind that is not a word is refused":  {text: "apps/De ploy/a/b", wantErr: "kind"},
		"a name with a line break is refused":   {text: "apps/Deployment/a/b\n", wantErr: "cannot be printed"},
		"a name of more than 253 bytes as well": {text: "apps/Deployment/a/" + strings.Repeat("x", 254), wantErr: "253"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseID(tt.text)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("got %v, %v, want %v", got, err, tt.want)
			}
			if got.String() != tt.text {
				t.Errorf("String() = %q, want %q", got, tt.text)
			}
		})
	}
}

func TestIDIsAJSONKey(t *testing.T) {
	want := map[ID]ID{{"apps", "Deployment", "a", "b"}: {"", "Node", "", "n"}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if wantText := `{"apps/Deployment/a/b":"core/Node/n"}`; string(text) != wantText {
		t.Errorf("got %s, want %s", text, wantText)
	}
	var got map[ID]ID
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIDsAreOrderedByGroupKindNamespaceName(t *testing.T) {
	want := []ID{{"", "B", "", "b"}, {"", "B", "a", "a"}, {"", "B", "a", "b"}, {"", "C", "", "a"}, {"a", "A", "", "a"}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, ID.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := want[4].GroupKind().String() + " " + want[0].GroupKind().String(); s != "A.a B" {
		t.Errorf("kinds are written %q", s)
	}
}
