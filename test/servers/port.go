package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Ports are taken from a range below those of outgoing connections, so none of these takes a
// port while its server is away.
const (
	firstPort = 12000
	lastPort  = 29999
)

// handedOut are the ports that this process has given out; they are not given out again.
var handedOut sync.Map

// FreeAddress returns one on the loopback on which nobody listens.
func FreeAddress() (string, error) {
	port, err := freePort()
	return loopback(port), err
}

// freePort finds a port that nothing listens on. Another process may take it first: see onFreePort.
func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			continue
		}
		if _, taken := handedOut.LoadOrStore(port, true); !taken {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d", firstPort, lastPort)
}

// onFreePort calls start with a free port, and with another one when somebody else was quicker.
func onFreePort(start func(port int) error) error {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		if err := start(port); try == 5 || !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

// onKeptPort calls start with the port that is wanted, or that is written down in the file at path,
// and otherwise with a free one. The port on which it started is then written down.
func onKeptPort(path string, wanted int, start func(port int) error) error {
	if wanted == 0 {
		content, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("read the port of before: %w", err)
		}
		wanted, _ = strconv.Atoi(strings.TrimSpace(string(content)))
	}
	keep := func(port int) error {
		if err := start(port); err != nil {
			return err
		}
		return os.WriteFile(path, fmt.Appendln(nil, port), 0o644)
	}
	if wanted != 0 {
		return keep(wanted)
	}
	return onFreePort(keep)
}

// loopback returns the address of a port.
func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
