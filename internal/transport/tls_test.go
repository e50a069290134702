// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// certificate makes a self-signed one for the host "server".
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"server"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLSAndPlainOnOnePort(t *testing.T) {
	cert, pool := certificate(t)
	r := newRig(t, ServerConfig{Handler: echo, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	plain := r.connect()
	r.d.TLS = &tls.Config{RootCAs: pool}
	secret := r.connect()
	for _, c := range []*Conn{plain, secret} {
		for _, size := range []int{0, 100, 1 << 20} {
			body := bytes.Repeat([]byte{3}, size)
			resp, err := c.Call(t.Context(), wire.NewRequest(1, nil, body))
			if err != nil || !bytes.Equal(resp.Body, body) {
				t.Fatalf("body of %d: %v", size, err)
			}
		}
		if err := c.CaughtUp(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := r.srv.CaughtUp(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEnforcedTLSClosesPlainConnections(t *testing.T) {
	cert, pool := certificate(t)
	closed := newEnds()
	r := newRig(t, ServerConfig{Handler: echo, OnClose: closed.onClose, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}, TLSMode: TLSEnforcing})
	if _, err := r.connect().Call(t.Context(), wire.NewRequest(1, nil, nil)); err == nil {
		t.Error("a plain call went through")
	}
	if err := <-closed; !isFrameError(err) {
		t.Errorf("reason %v", err)
	}
	r.d.TLS = &tls.Config{RootCAs: pool}
	if _, err := r.connect().Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
		t.Error(err)
	}
}

func TestTLSClientRefusesAnUnknownServer(t *testing.T) {
	cert, _ := certificate(t)
	r := newRig(t, ServerConfig{Handler: echo, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	r.d.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	if _, err := r.d.Connect(t.Context(), serverAddr); err == nil {
		t.Error("connected")
	}
}
