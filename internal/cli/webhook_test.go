package cli

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const webhookSecret = "0123456789abcdef0123"

var receivedOn = regexp.MustCompile(`webhooks are received on (\S+)`)

// A webhook makes a run observe what it would observe much later.
func TestAWebhookStartsAPass(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.write("secret", map[string]string{"webhook": webhookSecret + "\n"})
	ctx, stop := context.WithCancel(t.Context())
	var out textOf
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{
			"run", "--interval=24h", "--control-plane", p.at("control-plane"), "--cache", p.at("cache"),
			"--listen=127.0.0.1:0", "--webhook-secret-file", p.at("secret/webhook"),
		}, strings.NewReader(""), &out, &out)
	}()
	t.Cleanup(func() { stop(); <-ended })
	proposed := func(tier string) {
		t.Helper()
		eventually(t, tier+" is proposed", func() (bool, string) { return strings.Contains(out.String(), tier), out.String() })
	}
	proposed("east tier 00")
	hook := receivedOn.FindStringSubmatch(out.String())
	if hook == nil {
		t.Fatalf("no address is shown:\n%s", out.String())
	}
	send := func(token, repository string) int {
		t.Helper()
		body := `{"project": {"web_url": "` + repository + `"}}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, hook[1], strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Gitlab-Event", "Push Hook")
		r.Header.Set("X-Gitlab-Token", token)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	p.commit(map[string]string{"seeds/api.yaml": strings.ReplaceAll(webSeed, "web", "api")})
	if status := send("guess", "https://git.example.com/acme/"+filepath.Base(p.at("control-plane"))); status != http.StatusUnauthorized {
		t.Errorf("without the secret it answers %d", status)
	}
	if status := send(webhookSecret, "https://git.example.com/acme/another"); status != http.StatusAccepted {
		t.Errorf("of another repository it answers %d", status)
	}
	if strings.Contains(out.String(), "api") {
		t.Errorf("a pass was made for another repository:\n%s", out.String())
	}
	if status := send(webhookSecret, "https://git.example.com/acme/"+filepath.Base(p.at("control-plane"))); status != http.StatusAccepted {
		t.Errorf("it answers %d", status)
	}
	proposed("api")
}

// A run that would miss webhooks from now on ends with the error. Whoever supervises it starts it again.
func TestARunEndsWhenItsListenerDoes(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.write("secret", map[string]string{"webhook": webhookSecret + "\n"})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var out, failure textOf
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{
			"run", "--interval=24h", "--control-plane", p.at("control-plane"), "--cache", p.at("cache"),
			"--listen=127.0.0.1:0", "--webhook-secret-file", p.at("secret/webhook"),
		}, strings.NewReader(""), &out, &failure)
	}()
	eventually(t, "webhooks are received", func() (bool, string) { return receivedOn.MatchString(out.String()), out.String() })
	at, err := url.Parse(receivedOn.FindStringSubmatch(out.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	shutDownListener(t, at.Port())
	if code := <-ended; code != 1 || !strings.Contains(failure.String(), "webhooks are received no more: ") {
		t.Errorf("it ends with %d:\n%s\n%s", code, out.String(), failure.String())
	}
}

// shutDownListener has the socket of this process that listens on a port accept nothing any more.
func shutDownListener(t *testing.T, port string) {
	t.Helper()
	for fd := range 1024 {
		name, err := syscall.Getsockname(fd)
		if v4, ok := name.(*syscall.SockaddrInet4); err == nil && ok && strconv.Itoa(v4.Port) == port {
			if err := syscall.Shutdown(fd, syscall.SHUT_RD); err == nil {
				return
			}
		}
	}
	t.Fatalf("nothing listens on port %s", port)
}

func TestWebhooksNeedASecret(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.write("secret", map[string]string{"short": "secret"})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen=:0"}, "needs --webhook-secret-file"},
		{[]string{"--listen=:0", "--webhook-secret-file", p.at("secret/short")}, "use 16 or more"},
		{[]string{"--listen=:0", "--webhook-secret-file", p.at("secret/none")}, "does not exist"},
		{[]string{"--listen=:0", "--once", "--webhook-secret-file", p.at("secret/short")}, "exclude each other"},
	} {
		r := p.furrow(append([]string{"run"}, c.args...)...)
		if r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v ends with %d, want %q:\n%s", c.args, r.code, c.want, r.all())
		}
	}
}
