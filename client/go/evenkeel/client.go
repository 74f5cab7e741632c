package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // the service config asks for health checking
	"google.golang.org/grpc/metadata"

	"evenkeel.dev/client/go/evenkeelv1"
)

// Client has every method of the service; see proto/evenkeel/v1/planner_service.proto. Unary calls return *Error; pass
// errors of the stream PackDataset to FromError. Safe for concurrent use.
type Client struct {
	evenkeelv1.PlannerServiceClient
	connection *grpc.ClientConn
}

// New makes a client. It does not connect yet: a server that is down shows in the first call.
func New(options Options) (*Client, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("evenkeel: %w", err)
	}
	if options.MaxAttempts == 0 {
		options.MaxAttempts = DefaultMaxAttempts
	}
	transport := insecure.NewCredentials()
	if options.TLS != nil {
		config, err := options.TLS.config()
		if err != nil {
			return nil, fmt.Errorf("evenkeel: %w", err)
		}
		transport = credentials.NewTLS(config)
	}
	config, limits, err := serviceConfig(options.MaxAttempts)
	if err != nil {
		return nil, fmt.Errorf("evenkeel: %w", err)
	}
	// A server that comes back is found within seconds: gRPC's own wait grows to two minutes.
	reconnect := grpc.ConnectParams{MinConnectTimeout: 5 * time.Second, Backoff: backoff.DefaultConfig}
	reconnect.Backoff.BaseDelay = 100 * time.Millisecond
	reconnect.Backoff.MaxDelay = 3 * time.Second
	if options.WaitForServer {
		reconnect.Backoff.MaxDelay = 500 * time.Millisecond // a call waits for it
	}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(config),
		grpc.WithConnectParams(reconnect),
		grpc.WithUserAgent(options.UserAgent),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(options.WaitForServer)),
		grpc.WithChainUnaryInterceptor(calls{options, limits}.unary),
	}, options.DialOptions...)
	connection, err := grpc.NewClient(options.Address, dial...)
	if err != nil {
		return nil, fmt.Errorf("evenkeel: Address: %w", err)
	}
	return &Client{PlannerServiceClient: evenkeelv1.NewPlannerServiceClient(connection), connection: connection}, nil
}

// Close ends the connections; calls in flight fail.
func (c *Client) Close() error { return c.connection.Close() }

// calls makes every unary call.
type calls struct {
	Options
	limits timeouts
}

// unary sets the deadline, waits out what the server asks to wait for, and decodes errors.
func (o calls) unary(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if _, limited := ctx.Deadline(); !limited {
		limit := o.Timeout
		if limit == 0 {
			limit = o.limits.of(path.Base(method))
		}
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
	}
	for attempt := 1; ; attempt++ {
		var header metadata.MD
		failure := FromError(invoke(ctx, method, request, reply, connection, append(options, grpc.Header(&header))...))
		if failure == nil {
			return nil
		}
		var decoded *Error
		if !errors.As(failure, &decoded) {
			return failure
		}
		if ids := header.Get("x-request-id"); len(ids) > 0 {
			decoded.RequestID = ids[0]
		}
		delay := decoded.RetryDelay
		if decoded.Code != codes.ResourceExhausted || delay == 0 || attempt == o.MaxAttempts {
			return decoded
		}
		delay += time.Duration(rand.Int64N(int64(delay)/5 + 1)) // up to 20% more, or all refused callers come at once
		if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < delay {
			return decoded // this error says more than "deadline exceeded" would
		}
		select {
		case <-ctx.Done():
			return decoded
		case <-time.After(delay):
		}
	}
}
