package servers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// status is Gitea's answer to a user's request for a path of its API.
func status(ctx context.Context, gitea *Gitea, token, path string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, gitea.URL+"/api/v1"+path, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "token "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestGiteaServesRepositoriesAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	var gitea *Gitea
	timed(t, "start", func() error {
		gitea = MustGitea(t, GiteaOptions{})
		return nil
	})
	ctx := within(t, time.Minute)
	token, err := gitea.CreateUser(ctx, "ann")
	if err != nil || token == "" {
		t.Fatalf("CreateUser = %q, %v", token, err)
	}
	if _, err := gitea.CreateUser(ctx, "ann"); err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("CreateUser of one who is there: %v", err)
	}
	if err := gitea.CreateOrg(ctx, "fleet"); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"ann", "fleet"} {
		url, err := gitea.CreateRepo(ctx, owner, "seeds", true)
		if err != nil {
			t.Fatal(err)
		}
		if want := gitea.URL + "/" + owner + "/seeds.git"; url != want {
			t.Errorf("clone URL of %s = %s, want %s", owner, url, want)
		}
	}
	check := func(when string) {
		t.Helper()
		for _, want := range []struct {
			token, path string
			status      int
		}{
			{token, "/repos/ann/seeds", 200},
			{token, "/repos/fleet/seeds", 404},
			{gitea.AdminToken, "/repos/fleet/seeds", 200},
			{"wrong", "/repos/ann/seeds", 401},
		} {
			if got, err := status(ctx, gitea, want.token, want.path); got != want.status || err != nil {
				t.Errorf("%s: %s answers %d, %v, want %d", when, want.path, got, err, want.status)
			}
		}
	}
	check("before the restart")
	timed(t, "restart", func() error { return gitea.Restart(ctx) })
	check("after the restart")
	timed(t, "stop", gitea.Stop)
	if _, err := status(ctx, gitea, token, "/repos/ann/seeds"); err == nil {
		t.Error("Gitea answers after Stop")
	}
	again, err := StartGitea(ctx, GiteaOptions{Dir: gitea.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Stop() }()
	if again.URL != gitea.URL || again.AdminToken != gitea.AdminToken {
		t.Errorf("started again in its folder, it is %s, not %s", again.URL, gitea.URL)
	}
	check("after a start in the same folder")
}

func TestThePortOfAConfigurationIsSetAnew(t *testing.T) {
	got := withPort("[server]\nHTTP_PORT = 1\nROOT_URL = http://127.0.0.1:1/\n\n[database]\nPATH = x\n", 2, "http://127.0.0.1:2")
	want := "[server]\nHTTP_PORT = 2\nROOT_URL = http://127.0.0.1:2/\n\n[database]\nPATH = x\n"
	if got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestAFolderIsOpenedForPassageOnly(t *testing.T) {
	top, err := os.MkdirTemp("", "furrow-passage-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	dir := top + "/a/b"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if passable(dir) {
		t.Fatal("a folder of ours alone is passable")
	}
	if err := (account{name: "us"}).openPassage(dir); err != nil || passable(top) {
		t.Errorf("our own user needs nothing opened: %v", err)
	}
	if err := (account{name: "somebody", credential: &syscall.Credential{}}).openPassage(dir); err != nil {
		t.Fatal(err)
	}
	modes := ""
	for _, folder := range []string{top, top + "/a", dir} {
		info, err := os.Stat(folder)
		if err != nil {
			t.Fatal(err)
		}
		modes += fmt.Sprintf("%o ", info.Mode().Perm())
	}
	if modes != "711 711 700 " {
		t.Errorf("modes: %s", modes)
	}
}
