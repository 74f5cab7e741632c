package evenkeel_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
)

// fakeServer fails as often as it is told.
type fakeServer struct {
	evenkeelv1.UnimplementedPlannerServiceServer
	failures int32
	failure  error
	hang     time.Duration
	calls    atomic.Int32
}

func (f *fakeServer) PlanJob(ctx context.Context, _ *evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
	if f.hang > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(f.hang):
		}
	}
	if f.calls.Add(1) <= f.failures {
		return nil, f.failure
	}
	return &evenkeelv1.PlanJobResponse{PlanId: "plan-1"}, nil
}

func (f *fakeServer) RollBackProfile(context.Context, *evenkeelv1.RollBackProfileRequest) (
	*evenkeelv1.RollBackProfileResponse, error) {
	f.calls.Add(1)
	return nil, f.failure
}

func connect(t *testing.T, fake *fakeServer, options evenkeel.Options) *evenkeel.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	evenkeelv1.RegisterPlannerServiceServer(server, fake)
	ready := health.NewServer()
	ready.SetServingStatus("evenkeel.v1.PlannerService", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, ready)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	options.Address = listener.Addr().String()
	client, err := evenkeel.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func refusal(t *testing.T, code codes.Code, reason string, delay time.Duration) error {
	t.Helper()
	state, err := status.New(code, "no").WithDetails(&errdetails.ErrorInfo{Domain: evenkeel.Domain, Reason: reason},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	if err != nil {
		t.Fatal(err)
	}
	return state.Err()
}

func TestUnavailableIsTriedAgain(t *testing.T) {
	fake := &fakeServer{failures: 2, failure: status.Error(codes.Unavailable, "away")}
	answer, err := connect(t, fake, evenkeel.Options{}).PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{})
	if err != nil || answer.GetPlanId() != "plan-1" || fake.calls.Load() != 3 {
		t.Fatalf("answer %v, error %v, %d calls", answer, err, fake.calls.Load())
	}
}

// late serves on the address after a while.
func late(t *testing.T, address string, fake *fakeServer, wait time.Duration) {
	t.Helper()
	server := grpc.NewServer()
	evenkeelv1.RegisterPlannerServiceServer(server, fake)
	t.Cleanup(server.Stop)
	time.AfterFunc(wait, func() {
		if listener, err := net.Listen("unix", address); err == nil {
			_ = server.Serve(listener)
		}
	})
}

func TestAServerThatRestartsIsWaitedFor(t *testing.T) {
	for _, waits := range []bool{true, false} {
		address := t.TempDir() + "/socket"
		fake := &fakeServer{}
		late(t, address, fake, 1500*time.Millisecond)
		client, err := evenkeel.New(evenkeel.Options{Address: "unix:" + address, WaitForServer: waits,
			Timeout: 20 * time.Second, MaxAttempts: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{})
		if (err == nil) != waits || waits && fake.calls.Load() != 1 {
			t.Errorf("WaitForServer %v: error %v, %d calls", waits, err, fake.calls.Load())
		}
	}
}

func TestAServerThatStaysAwayIsWaitedForUntilTheDeadline(t *testing.T) {
	client, err := evenkeel.New(evenkeel.Options{Address: "unix:" + t.TempDir() + "/nobody", WaitForServer: true,
		Timeout: 400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	started := time.Now()
	_, err = client.PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{})
	took := time.Since(started)
	if status.Code(err) != codes.DeadlineExceeded || took < 390*time.Millisecond || took > 10*time.Second {
		t.Errorf("error %v after %v", err, took)
	}
	// Says what kept it, not only that time was over.
	if !strings.Contains(err.Error(), "nobody") {
		t.Errorf("error %v", err)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	for attempts, want := range map[int]int32{0: 4, 1: 1, 3: 3} {
		fake := &fakeServer{failures: 100, failure: status.Error(codes.Unavailable, "away")}
		_, err := connect(t, fake, evenkeel.Options{MaxAttempts: attempts}).PlanJob(t.Context(),
			&evenkeelv1.PlanJobRequest{})
		if status.Code(err) != codes.Unavailable || fake.calls.Load() != want {
			t.Errorf("MaxAttempts %d: %d calls, want %d; error %v", attempts, fake.calls.Load(), want, err)
		}
	}
}

func TestRetryDelayIsKept(t *testing.T) {
	fake := &fakeServer{failures: 2, failure: refusal(t, codes.ResourceExhausted, evenkeel.ReasonQueueFull,
		120*time.Millisecond)}
	started := time.Now()
	_, err := connect(t, fake, evenkeel.Options{}).PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{})
	if err != nil || fake.calls.Load() != 3 || time.Since(started) < 240*time.Millisecond {
		t.Fatalf("error %v, %d calls after %v", err, fake.calls.Load(), time.Since(started))
	}
}

func TestRetryDelayBeyondDeadlineReturnsAtOnce(t *testing.T) {
	fake := &fakeServer{failures: 9, failure: refusal(t, codes.ResourceExhausted, evenkeel.ReasonQueueFull, time.Minute)}
	_, err := connect(t, fake, evenkeel.Options{}).PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{})
	var refused *evenkeel.Error
	if !errors.As(err, &refused) || refused.Reason != evenkeel.ReasonQueueFull || refused.RetryDelay != time.Minute ||
		!refused.Temporary() || fake.calls.Load() != 1 {
		t.Fatalf("error %#v, %d calls", err, fake.calls.Load())
	}
}

func TestDefaultDeadline(t *testing.T) {
	fake := &fakeServer{hang: 20 * time.Second}
	started := time.Now()
	_, err := connect(t, fake, evenkeel.Options{Timeout: 200 * time.Millisecond}).PlanJob(t.Context(),
		&evenkeelv1.PlanJobRequest{})
	if status.Code(err) != codes.DeadlineExceeded || time.Since(started) > 5*time.Second {
		t.Fatalf("error %v after %v", err, time.Since(started))
	}
}

func TestDeadlinesOfTheServiceConfig(t *testing.T) {
	fake := &fakeServer{hang: 6 * time.Second}
	client := connect(t, fake, evenkeel.Options{})
	started := time.Now()
	_, err := client.PlanJob(t.Context(), &evenkeelv1.PlanJobRequest{})
	if took := time.Since(started); status.Code(err) != codes.DeadlineExceeded || took < 4900*time.Millisecond {
		t.Errorf("without a deadline: %v after %v", err, took)
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.PlanJob(patient, &evenkeelv1.PlanJobRequest{}); err != nil {
		t.Errorf("the caller's own deadline of a minute was cut: %v", err)
	}
}

func TestRollBacksAreNotRepeated(t *testing.T) {
	fake := &fakeServer{failures: 9, failure: status.Error(codes.Unavailable, "away")}
	_, err := connect(t, fake, evenkeel.Options{}).RollBackProfile(t.Context(), &evenkeelv1.RollBackProfileRequest{})
	if status.Code(err) != codes.Unavailable || fake.calls.Load() != 1 {
		t.Errorf("%v after %d calls, want 1", err, fake.calls.Load())
	}
}

func TestDetailsOfOtherDomainsAreNoReasons(t *testing.T) {
	state, _ := status.New(codes.Internal, "no").WithDetails(&errdetails.ErrorInfo{Domain: "example.com", Reason: "R"})
	var decoded *evenkeel.Error
	if !errors.As(evenkeel.FromError(state.Err()), &decoded) || decoded.Reason != "" {
		t.Fatalf("decoded %#v", decoded)
	}
	if evenkeel.FromError(nil) != nil {
		t.Fatal("nil became an error")
	}
}

func TestOptionsNameEveryFault(t *testing.T) {
	_, err := evenkeel.New(evenkeel.Options{Timeout: -1, MaxAttempts: 6, TLS: &evenkeel.TLS{CertFile: "c.pem"}})
	for _, field := range []string{"Address", "Timeout", "MaxAttempts", "KeyFile"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
	if _, err := evenkeel.New(evenkeel.Options{Address: "unix:/s", TLS: &evenkeel.TLS{}}); err == nil {
		t.Error("TLS over a unix socket was accepted")
	}
	if _, err := evenkeel.New(evenkeel.Options{Address: "h:1", TLS: &evenkeel.TLS{CAFile: "none.pem"}}); err == nil {
		t.Error("a missing CAFile was accepted")
	}
}

func TestServiceConfigIsTheShippedOne(t *testing.T) {
	shipped, err := os.ReadFile("../../../deploy/grpc/service-config.json")
	if err != nil {
		t.Skip("outside of the repository")
	}
	copied, err := os.ReadFile("service-config.json")
	if err != nil || !bytes.Equal(shipped, copied) {
		t.Fatal("copy deploy/grpc/service-config.json to client/go/evenkeel")
	}
}
