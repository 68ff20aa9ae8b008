package law

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// authority signs the certificates of all backends.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	// bundle is what goes into a caBundle.
	bundle []byte

	mu    sync.Mutex
	certs map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, certs: map[string]*tls.Certificate{}}
	der, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "law"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, key)
	if err != nil {
		return nil, err
	}
	a.bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, err
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	return x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
}

// certificate returns the certificate of a server name.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if made := a.certs[hello.ServerName]; made != nil {
		return made, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "backend"}, DNSNames: []string{hello.ServerName},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key)
	if err != nil {
		return nil, err
	}
	a.certs[hello.ServerName] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return a.certs[hello.ServerName], nil
}

// egress answers for all Services of one cluster. It is the HTTP proxy to which the API server
// sends what is for them. An address that no Service has is refused.
type egress struct {
	mu sync.Mutex
	// resources are the resources of aggregated APIs, by group and version.
	resources map[string][]aggregated
	// listening has the host:port of the Services with a backend.
	listening map[string]bool
	backends  chan net.Conn
	closed    chan struct{}
	server    *http.Server
	socket    net.Listener
}

// aggregated is a resource of an aggregated API.
type aggregated struct {
	plural, kind string
	namespaced   bool
}

// startEgress answers on a Unix socket until it is closed.
func startEgress(path string, authority *authority) (*egress, error) {
	socket, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for what the API server sends to Services: %w", err)
	}
	e := &egress{listening: map[string]bool{}, resources: map[string][]aggregated{}, backends: make(chan net.Conn), closed: make(chan struct{}), socket: socket}
	e.server = &http.Server{
		Handler:   http.HandlerFunc(e.serve),
		TLSConfig: &tls.Config{GetCertificate: authority.certificate, MinVersion: tls.VersionTLS12},
		// API servers that do not trust a backend yet are what is tested.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = e.server.ServeTLS(backendListener{e}, "", "") }()
	go e.accept()
	return e, nil
}

func (e *egress) close() error {
	close(e.closed)
	return errors.Join(e.socket.Close(), e.server.Close())
}

// reset forgets all backends: nothing answers any more.
func (e *egress) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listening, e.resources = map[string]bool{}, map[string][]aggregated{}
}

// listen lets a backend answer at an address.
func (e *egress) listen(hostPort string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listening[hostPort] = true
}

// offer adds a resource to an aggregated API.
func (e *egress) offer(version string, r aggregated) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resources[version] = append(e.resources[version], r)
}

func (e *egress) accept() {
	for {
		conn, err := e.socket.Accept()
		if err != nil {
			return
		}
		go e.connect(conn)
	}
}

// connect handles one CONNECT request.
func (e *egress) connect(conn net.Conn) {
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		_ = conn.Close()
		return
	}
	e.mu.Lock()
	there := request.Method == http.MethodConnect && e.listening[request.Host]
	e.mu.Unlock()
	if !there {
		_, _ = io.WriteString(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
		_ = conn.Close()
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	select {
	case e.backends <- conn:
	case <-e.closed:
		_ = conn.Close()
	}
}

// backendListener hands out the connections to backends.
type backendListener struct{ e *egress }

func (l backendListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.e.backends:
		return conn, nil
	case <-l.e.closed:
		return nil, net.ErrClosed
	}
}

func (l backendListener) Close() error   { return nil }
func (l backendListener) Addr() net.Addr { return l.e.socket.Addr() }

// serve is every backend: it allows what it is asked to review, converts by copying, and is an
// aggregated API that takes any object.
func (e *egress) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var review unstructured.Unstructured
	_ = json.Unmarshal(body, &review.Object)
	w.Header().Set("Content-Type", "application/json")
	var answer any
	switch {
	case review.GetKind() == "AdmissionReview":
		uid, _, _ := unstructured.NestedString(review.Object, "request", "uid")
		answer = map[string]any{"apiVersion": review.GetAPIVersion(), "kind": "AdmissionReview", "response": map[string]any{"uid": uid, "allowed": true}}
	case review.GetKind() == "ConversionReview":
		answer = convert(&review)
	default:
		e.aggregate(w, r, body)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// convert answers a ConversionReview: the same objects in the wanted version.
func convert(review *unstructured.Unstructured) any {
	uid, _, _ := unstructured.NestedString(review.Object, "request", "uid")
	version, _, _ := unstructured.NestedString(review.Object, "request", "desiredAPIVersion")
	objects, _, _ := unstructured.NestedSlice(review.Object, "request", "objects")
	for _, o := range objects {
		o.(map[string]any)["apiVersion"] = version
	}
	return map[string]any{
		"apiVersion": review.GetAPIVersion(), "kind": "ConversionReview",
		"response": map[string]any{"uid": uid, "convertedObjects": objects, "result": map[string]any{"status": "Success"}},
	}
}

// aggregate answers as an aggregated API.
func (e *egress) aggregate(w http.ResponseWriter, r *http.Request, body []byte) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 3 || parts[0] != "apis" {
		http.NotFound(w, r)
		return
	}
	if len(parts) > 3 {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
			return
		}
		http.NotFound(w, r)
		return
	}
	version := parts[1] + "/" + parts[2]
	e.mu.Lock()
	resources := slices.Clone(e.resources[version])
	e.mu.Unlock()
	list := []any{}
	for _, r := range resources {
		list = append(list, map[string]any{"name": r.plural, "singularName": "", "namespaced": r.namespaced, "kind": r.kind, "verbs": []string{"create", "patch", "get"}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list})
}
