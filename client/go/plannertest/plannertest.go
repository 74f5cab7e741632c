// Package plannertest starts a real evenkeel-server for tests.
package plannertest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Server is a running evenkeel-server.
type Server struct {
	// Address that clients take.
	Address string

	arguments []string
	process   *exec.Cmd
}

// Program returns the path of evenkeel-server: EVENKEEL_SERVER_PROGRAM, or build/bin/evenkeel-server of this
// repository. "" if there is none.
func Program() string {
	path := os.Getenv("EVENKEEL_SERVER_PROGRAM")
	if path == "" {
		_, here, _, _ := runtime.Caller(0)
		path = filepath.Join(filepath.Dir(here), "../../../build/bin/evenkeel-server")
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Start starts a server on a unix socket; it ends with the test. A test without the program is skipped, or fails where
// EVENKEEL_SERVER_REQUIRED is set, as the scripts of this repository do.
func Start(t *testing.T, arguments ...string) *Server {
	t.Helper()
	server := New(t, arguments...)
	server.Start(t)
	return server
}

// New makes a server like Start, but does not run it yet.
func New(t *testing.T, arguments ...string) *Server {
	t.Helper()
	if Program() == "" {
		if os.Getenv("EVENKEEL_SERVER_REQUIRED") != "" {
			t.Fatal("no evenkeel-server: build it, or set EVENKEEL_SERVER_PROGRAM")
		}
		t.Skip("no evenkeel-server: build it, or set EVENKEEL_SERVER_PROGRAM")
	}
	folder, err := os.MkdirTemp("", "evenkeel-go-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return &Server{
		Address:   "unix:" + filepath.Join(folder, "planner.sock"),
		arguments: append([]string{"--metrics-address=off", "--plan-store=off", "--profile-store=off"}, arguments...),
	}
}

// Start runs the server and waits until it listens.
func (s *Server) Start(t *testing.T) {
	t.Helper()
	network, path := "tcp", s.Address
	if filepath.IsAbs(s.Address[len("unix:"):]) && s.Address[:5] == "unix:" {
		network, path = "unix", s.Address[len("unix:"):]
	}
	s.process = exec.Command(Program(), append([]string{"--listen=" + s.Address}, s.arguments...)...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getenv("EVENKEEL_SERVER_LOG") != "" {
		s.process.Stderr = os.Stderr
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		connection, err := net.Dial(network, path)
		if err == nil {
			connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("evenkeel-server does not listen on %s: %v", s.Address, err)
		}
	}
}

// Kill ends the server at once, as a crash does. Start brings it back at the same address.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}
