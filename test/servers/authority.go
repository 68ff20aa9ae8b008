package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a cluster's certificate authority. All that it makes is kept in its folder and found
// there again, as <name>.crt and <name>.key.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// validity is how long certificates hold. They begin in the past, for clocks that are not quite
// right.
const (
	validity  = 10 * 365 * 24 * time.Hour
	clockSkew = time.Hour
)

// openAuthority opens the authority in dir, which it makes when it is not there. One that was
// interrupted while it was made is completed.
func openAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of certificates: %w", err)
	}
	a := &authority{dir: dir}
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: "furrow-test-ca"},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true,
	}
	if err := a.make("ca", template); err != nil {
		return nil, err
	}
	cert, err := readBlock(a.certFile("ca"))
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(cert); err != nil {
		return nil, fmt.Errorf("understand the authority's certificate: %w", err)
	}
	if a.key, err = readKey(a.keyFile("ca")); err != nil {
		return nil, err
	}
	return a, nil
}

// issueServer makes the certificate of a server on the loopback interface.
func (a *authority) issueServer(name string) error {
	return a.make(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	})
}

// issueAdmin makes the certificate of a user who may do everything.
func (a *authority) issueAdmin(user string) error {
	return a.make(user, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issueKeyPair makes a key pair without a certificate: <name>.key and <name>.pub.
func (a *authority) issueKeyPair(name string) error {
	key, err := a.ensureKey(name)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("write the public key of %s: %w", name, err)
	}
	return writeBlock(filepath.Join(a.dir, name+".pub"), "PUBLIC KEY", public)
}

// make makes a key and a certificate after template, unless they are there. The authority signs
// itself.
func (a *authority) make(name string, template *x509.Certificate) error {
	if _, err := os.Stat(a.certFile(name)); err == nil {
		return nil
	}
	key, err := a.ensureKey(name)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("draw a serial number: %w", err)
	}
	now := time.Now()
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, now.Add(-clockSkew), now.Add(validity)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return fmt.Errorf("make the certificate of %s: %w", name, err)
	}
	return writeBlock(a.certFile(name), "CERTIFICATE", cert)
}

// ensureKey reads the private key of name, which it makes when it is not there.
func (a *authority) ensureKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := readKey(a.keyFile(name))
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", name, err)
	}
	content, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write the key of %s: %w", name, err)
	}
	return key, writeBlock(a.keyFile(name), "EC PRIVATE KEY", content)
}

func (a *authority) certFile(name string) string { return filepath.Join(a.dir, name+".crt") }
func (a *authority) keyFile(name string) string  { return filepath.Join(a.dir, name+".key") }

func readKey(path string) (*ecdsa.PrivateKey, error) {
	content, err := readBlock(path)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(content)
	if err != nil {
		return nil, fmt.Errorf("understand the key %s: %w", path, err)
	}
	return key, nil
}

func readBlock(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what the authority made: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}

func writeBlock(path, kind string, content []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("keep what the authority made: %w", err)
	}
	return nil
}
