// The controller of the admission check evenkeel.dev/planner: docs/KUEUE.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	kueueapi "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/kueue"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "evenkeel-kueue:", err)
		os.Exit(1)
	}
}

func run() error {
	options := evenkeel.Options{UserAgent: "evenkeel-kueue"}
	tls := evenkeel.TLS{}
	flag.StringVar(&options.Address, "planner", "127.0.0.1:50051", "where evenkeel-server listens: HOST:PORT or unix:/PATH")
	flag.DurationVar(&options.Timeout, "deadline", 10*time.Second, "longest to wait for a plan")
	flag.StringVar(&tls.CAFile, "tls-ca", "", "PEM file of the authority that signs the planner's certificate; turns TLS on")
	flag.StringVar(&tls.CertFile, "tls-cert", "", "PEM file of this controller's own certificate")
	flag.StringVar(&tls.KeyFile, "tls-key", "", "PEM file of its private key")
	flag.StringVar(&tls.ServerName, "tls-server-name", "", "name that the planner's certificate must carry")
	probes := flag.String("health-probe-bind-address", "127.0.0.1:8081", "HOST:PORT of /healthz and /readyz; 0: none")
	metrics := flag.String("metrics-bind-address", "127.0.0.1:8080", "HOST:PORT of /metrics, over HTTP; 0: none")
	elect := flag.Bool("leader-elect", false, "only one of several replicas works")
	namespace := flag.String("leader-election-namespace", "", "namespace of the lease; the pod's own unless set")
	flag.Parse() // controller-runtime adds --kubeconfig
	if tls != (evenkeel.TLS{}) {
		options.TLS = &tls
	}
	ctrl.SetLogger(klog.Background())
	planner, err := evenkeel.New(options)
	if err != nil {
		return err
	}
	defer planner.Close()
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kueueapi.AddToScheme(scheme))
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Cache: kueue.CacheOptions(), HealthProbeBindAddress: *probes,
		Metrics: server.Options{BindAddress: *metrics}, LeaderElection: *elect, LeaderElectionNamespace: *namespace,
		LeaderElectionID: "evenkeel-kueue.evenkeel.dev"})
	if err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := kueue.Setup(manager, planner); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
