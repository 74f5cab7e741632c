// Package e2e runs the plugin in a real kube-scheduler against a real API server, etcd and evenkeel-server. Nodes are
// objects: there is no kubelet, so pods stay bound and never run. tests/kubernetes/run.sh builds what it needs.
package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The long deadline is for machines with much else to do; a planner that is away costs it whole.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %[1]s/scheduler.kubeconfig, qps: 5000, burst: 10000}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: plain
- schedulerName: evenkeel
  plugins: &plugins
    multiPoint: {enabled: [{name: Evenkeel}]}
    postFilter: {enabled: [{name: Evenkeel}]}
    bind: {enabled: [{name: Evenkeel}]}
  pluginConfig:
  - name: Evenkeel
    args: {address: "%[2]s", deadline: 20s, failureTTL: 2s, breakerCooldown: 2s}
- schedulerName: evenkeel-closed
  plugins: *plugins
  pluginConfig:
  - name: Evenkeel
    args: {address: "%[2]s", deadline: 20s, onPlannerFailure: FailClosed, failureTTL: 2s, breakerCooldown: 2s}
- schedulerName: evenkeel-patching
  plugins:
    multiPoint: {enabled: [{name: Evenkeel}]}
  pluginConfig:
  - name: Evenkeel
    args: {address: "%[2]s", deadline: 1m}
`

const featureGates = "--feature-gates=GenericWorkload=true,GangScheduling=true"

// control is the control plane of the test binary.
type control struct {
	folder, programs string
	planner          string // address
	client           kubernetes.Interface
	config           *rest.Config
	processes        []*exec.Cmd
	scheduler        *exec.Cmd
	schedulerURL     string
}

var plane *control

func TestMain(m *testing.M) {
	code := 1
	func() {
		folder, err := os.MkdirTemp("", "evenkeel-k8s-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		defer os.RemoveAll(folder)
		plane = &control{folder: folder, programs: os.Getenv("EVENKEEL_K8S_PROGRAMS"),
			planner: "unix:" + folder + "/planner.sock"}
		defer plane.stop()
		if err := plane.start(); err != nil {
			fmt.Fprintln(os.Stderr, "control plane:", err)
			return
		}
		code = m.Run()
		if code != 0 && os.Getenv("EVENKEEL_K8S_LOGS") != "" {
			_ = exec.Command("cp", "-r", folder, os.Getenv("EVENKEEL_K8S_LOGS")).Run()
		}
	}()
	os.Exit(code)
}

func (c *control) start() error {
	if c.programs == "" {
		return fmt.Errorf("EVENKEEL_K8S_PROGRAMS: folder with etcd, kube-apiserver and evenkeel-scheduler; see run.sh")
	}
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	etcd, api := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	c.schedulerURL = fmt.Sprintf("https://127.0.0.1:%d", ports[3])
	if err := c.writeFiles(api); err != nil {
		return err
	}
	// The data lie on a disk and need not survive: unsafe-no-fsync keeps the disk out of what is measured.
	if _, err := c.run("etcd", "--data-dir="+c.folder+"/etcd", "--unsafe-no-fsync", "--listen-client-urls="+etcd,
		"--advertise-client-urls="+etcd, fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", ports[1]),
		"--log-level=warn"); err != nil {
		return err
	}
	_, err = c.run("kube-apiserver", "--etcd-servers="+etcd, "--cert-dir="+c.folder+"/certs", "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports[2]), "--token-auth-file="+c.folder+"/tokens.csv",
		"--authorization-mode=RBAC", "--service-account-issuer=https://evenkeel.test",
		"--service-account-key-file="+c.folder+"/accounts.key",
		"--service-account-signing-key-file="+c.folder+"/accounts.key", "--service-cluster-ip-range=10.96.0.0/16",
		"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
		"--runtime-config=scheduling.k8s.io/v1alpha2=true", "--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false", featureGates)
	if err != nil {
		return err
	}
	c.config = &rest.Config{Host: api, BearerToken: "admin-token", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return err
	}
	if err := c.await(c.config, api+"/readyz"); err != nil {
		return err
	}
	if err := c.installPodGroups(); err != nil {
		return err
	}
	return c.startScheduler()
}

// startScheduler starts the scheduler and waits until its caches are full.
func (c *control) startScheduler() error {
	var port int
	if _, err := fmt.Sscanf(c.schedulerURL, "https://127.0.0.1:%d", &port); err != nil {
		return err
	}
	process, err := c.run("evenkeel-scheduler", "--config="+c.folder+"/scheduler.yaml", "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+c.folder+"/scheduler-certs", featureGates,
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics", "--v=2",
		"--authentication-kubeconfig="+c.folder+"/scheduler.kubeconfig",
		"--authorization-kubeconfig="+c.folder+"/scheduler.kubeconfig")
	if err != nil {
		return err
	}
	c.scheduler = process
	return c.await(c.config, c.schedulerURL+"/readyz")
}

func (c *control) writeFiles(api string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	accounts := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	files := map[string]string{
		"accounts.key": string(accounts),
		"tokens.csv": "admin-token,admin,admin,system:masters\nscheduler-token,system:kube-scheduler,scheduler\n" +
			"second-token,system:serviceaccount:kube-system:evenkeel-scheduler,second\n" +
			"kueue-token,system:serviceaccount:kueue-system:evenkeel-kueue,kueue\n",
		"scheduler.yaml": fmt.Sprintf(schedulerConfig, c.folder, c.planner),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for user, token := range map[string]string{"admin": "admin-token", "scheduler": "scheduler-token", "second": "second-token",
		"kueue": "kueue-token"} {
		config := clientcmdapi.NewConfig()
		config.Clusters["test"] = &clientcmdapi.Cluster{Server: api, InsecureSkipTLSVerify: true}
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
		config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: user}
		config.CurrentContext = "test"
		if err := clientcmd.WriteToFile(*config, filepath.Join(c.folder, user+".kubeconfig")); err != nil {
			return err
		}
	}
	return nil
}

// run starts a program of the folder of programs.
func (c *control) run(name string, arguments ...string) (*exec.Cmd, error) {
	return c.launch(name, filepath.Join(c.programs, name), arguments...)
}

// launch starts a program that ends with this process; its output goes to NAME.log.
func (c *control) launch(name, program string, arguments ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(c.folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	process := exec.Command(program, arguments...)
	process.Stdout, process.Stderr = log, log
	process.Dir = c.folder
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return nil, err
	}
	c.processes = append(c.processes, process)
	return process, nil
}

func (c *control) await(config *rest.Config, url string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		response, err := client.Get(url)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == 200 {
				return nil
			}
			err = fmt.Errorf("%s", response.Status)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %w; logs:\n%s", url, err, c.logs())
		}
	}
}

func (c *control) logs() string {
	text := ""
	for _, name := range []string{"etcd", "kube-apiserver", "evenkeel-scheduler"} {
		log, _ := os.ReadFile(filepath.Join(c.folder, name+".log"))
		text += fmt.Sprintf("== %s\n%s\n", name, log[max(0, len(log)-3000):])
	}
	return text
}

func (c *control) stop() {
	for at := len(c.processes) - 1; at >= 0; at-- {
		kill(c.processes[at])
	}
}

func kill(process *exec.Cmd) {
	if process.ProcessState == nil {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
}

func freePorts(count int) (ports []int, err error) {
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
