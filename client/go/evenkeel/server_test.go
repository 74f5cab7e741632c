package evenkeel_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
	"evenkeel.dev/client/go/plannertest"
)

func job(model, gpu string, gpus int32) *evenkeelv1.Job {
	return &evenkeelv1.Job{
		Model:   &evenkeelv1.Model{Name: model},
		Cluster: &evenkeelv1.Cluster{Pools: []*evenkeelv1.GpuPool{{GpuType: gpu, GpuCount: gpus}}},
	}
}

func open(t *testing.T, options evenkeel.Options) *evenkeel.Client {
	t.Helper()
	options.Timeout = time.Minute // of a machine that has much else to do
	client, err := evenkeel.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestPlanFromRealServer(t *testing.T) {
	server := plannertest.Start(t)
	client := open(t, evenkeel.Options{Address: server.Address})
	answer, err := client.PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{Job: job("llama3-8b", "h100-sxm-80gb", 8)})
	if err != nil || answer.GetPlan().GetMisfit() != nil || answer.GetPlan().GetPlacement().GetNodeCount() != 1 {
		t.Fatalf("answer %v, error %v", answer, err)
	}
	stored, err := client.GetPlan(t.Context(), &evenkeelv1.GetPlanRequest{PlanId: answer.GetPlanId()})
	if err != nil || !proto.Equal(stored.GetPlan(), answer.GetPlan()) {
		t.Fatalf("GetPlan: another plan, or error %v", err)
	}
}

func TestEveryViolationArrives(t *testing.T) {
	server := plannertest.Start(t)
	client := open(t, evenkeel.Options{Address: server.Address})
	_, err := client.PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{Job: job("no-such-model", "no-such-gpu", 7)})
	var refused *evenkeel.Error
	if !errors.As(err, &refused) || refused.Code != codes.InvalidArgument || refused.Temporary() ||
		refused.Reason != evenkeel.ReasonInvalidRequest || len(refused.Violations) < 2 || refused.RequestID == "" {
		t.Fatalf("error %#v", err)
	}
	if !strings.Contains(err.Error(), "job.model.name") || !strings.Contains(err.Error(), "job.cluster.pools[0].gpu_type") {
		t.Errorf("the text does not name the fields: %v", err)
	}
	_, err = client.GetPlan(t.Context(), &evenkeelv1.GetPlanRequest{PlanId: "plan-" + strings.Repeat("0", 32)})
	if !errors.As(err, &refused) || refused.Reason != evenkeel.ReasonPlanNotFound || refused.Resource == "" {
		t.Errorf("GetPlan: %#v", err)
	}
}

func TestServerThatDiesAndComesBack(t *testing.T) {
	server := plannertest.Start(t)
	client := open(t, evenkeel.Options{Address: server.Address, MaxAttempts: 1})
	request := &evenkeelv1.PlanJobRequest{Job: job("llama3-8b", "h100-sxm-80gb", 8)}
	if _, err := client.PlanJob(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	var failed *evenkeel.Error
	if _, err := client.PlanJob(t.Context(), request); !errors.As(err, &failed) || failed.Code != codes.Unavailable {
		t.Fatalf("without a server: %v", err)
	}
	server.Start(t)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.PlanJob(t.Context(), request)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still failing 30 s after the server came back: %v", err)
		}
	}
}

// issue writes NAME.pem and NAME.key, signed by parent or by itself.
func issue(t *testing.T, folder, name string, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate,
	*ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"planner.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{
		".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(filepath.Join(folder, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

func TestMutualTLS(t *testing.T) {
	folder := t.TempDir()
	authority, key := issue(t, folder, "ca", nil, nil)
	issue(t, folder, "server", authority, key)
	issue(t, folder, "client", authority, key)
	file := func(name string) string { return filepath.Join(folder, name) }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	server := plannertest.New(t, "--tls-cert="+file("server.pem"), "--tls-key="+file("server.key"),
		"--tls-client-ca="+file("ca.pem"))
	server.Address = listener.Addr().String()
	server.Start(t)

	list := func(options evenkeel.TLS) error {
		client := open(t, evenkeel.Options{Address: server.Address, TLS: &options, MaxAttempts: 1})
		_, err := client.ListGpuTypes(t.Context(), &evenkeelv1.ListGpuTypesRequest{})
		return err
	}
	mutual := evenkeel.TLS{CAFile: file("ca.pem"), CertFile: file("client.pem"), KeyFile: file("client.key"),
		ServerName: "planner.test"}
	if err := list(mutual); err != nil {
		t.Errorf("mutual TLS: %v", err)
	}
	other := mutual
	other.ServerName = "elsewhere.test"
	if err := list(other); err == nil {
		t.Error("a server of another name was trusted")
	}
	if err := list(evenkeel.TLS{CAFile: file("ca.pem")}); err == nil {
		t.Error("the server took a client without a certificate")
	}
}
