package evenkeel

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// DefaultMaxAttempts of Options.
const DefaultMaxAttempts = 4

// Options says where the server is and how to call it.
type Options struct {
	// Address: "HOST:PORT", "unix:/path/to.sock", or any target that gRPC resolves ("dns:///evenkeel:50051" spreads calls
	// over all addresses of the name). Required.
	Address string

	// TLS; nil: plaintext, for loopback and unix sockets. Must be nil for unix sockets, which the server serves without.
	TLS *TLS

	// Timeout of a unary call whose context has no deadline. 0: that of the service config, 5 s for most methods.
	// Streams have only the deadline of their context.
	Timeout time.Duration

	// MaxAttempts of a unary call, the first included: 1 to 5. 0: DefaultMaxAttempts. gRPC itself retries UNAVAILABLE
	// if that repeats nothing that was done. Calls that the server refuses with a retry delay (RetryInfo) are tried
	// again after that delay.
	MaxAttempts int

	// WaitForServer lets calls wait for a server that is away or not ready, such as one that restarts, until their
	// deadline. Otherwise they fail as soon as it is known to be away.
	WaitForServer bool

	// UserAgent goes before gRPC's own.
	UserAgent string

	// DialOptions are added to the client's own.
	DialOptions []grpc.DialOption
}

// TLS names PEM files. Certificate and key are read again for every connection, so that they can be replaced in place.
type TLS struct {
	// CAFile holds the authorities that may sign the server's certificate. Unset: the system's authorities.
	CAFile string `json:"caFile,omitempty"`

	// CertFile and KeyFile: this client's own certificate, both or neither.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`

	// ServerName that the server's certificate must carry. Unset: the host of the address.
	ServerName string `json:"serverName,omitempty"`
}

// Validate returns everything that is wrong with the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Address == "" {
		faults = append(faults, errors.New("Address: required: HOST:PORT or unix:/PATH"))
	}
	if strings.HasPrefix(o.Address, "unix:") && o.TLS != nil {
		faults = append(faults, errors.New("TLS: must be unset for a unix socket, which is served without TLS"))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("Timeout: %v; accepted: 0 and up", o.Timeout))
	}
	if o.MaxAttempts < 0 || o.MaxAttempts > 5 {
		faults = append(faults, fmt.Errorf("MaxAttempts: %d; accepted: 1 to 5, 0 for %d", o.MaxAttempts, DefaultMaxAttempts))
	}
	if o.TLS != nil && (o.TLS.CertFile == "") != (o.TLS.KeyFile == "") {
		faults = append(faults, errors.New("TLS: CertFile and KeyFile must both be set, or neither"))
	}
	return errors.Join(faults...)
}

// config reads the files once, so that a wrong path fails here and not in the first call.
func (t *TLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("TLS.CAFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS.CAFile: no PEM certificate in %s", t.CAFile)
		}
	}
	if t.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("TLS.CertFile, TLS.KeyFile: %w", err)
			}
			return &pair, nil
		}
		if _, err := load(); err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return config, nil
}
