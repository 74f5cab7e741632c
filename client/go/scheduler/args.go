package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
)

// FailurePolicy says what becomes of a job whose plan can not be had because the planner is away.
type FailurePolicy string

const (
	// FailOpen schedules the job without a plan.
	FailOpen FailurePolicy = "FailOpen"
	// FailClosed lets the job wait until the planner answers.
	FailClosed FailurePolicy = "FailClosed"
)

// Args are the plugin's pluginConfig in KubeSchedulerConfiguration. Every field has a default.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// Address of the planner: HOST:PORT or unix:/PATH. Default: 127.0.0.1:50051.
	Address string `json:"address,omitempty"`
	// TLS to the planner. Default: none.
	TLS *evenkeel.TLS `json:"tls,omitempty"`
	// OnPlannerFailure: FailOpen or FailClosed. Default: FailOpen.
	OnPlannerFailure FailurePolicy `json:"onPlannerFailure,omitempty"`

	// Deadline of one background call, all attempts together. A planner that restarts is waited for as long. Range: 10ms
	// to 5m. Default: 5s.
	Deadline metav1.Duration `json:"deadline,omitempty"`
	// Attempts of a call. Range: 1 to 5. Default: 3.
	Attempts int `json:"attempts,omitempty"`
	// CacheSize: plans kept in memory. Range: 1 to 1000000. Default: 4096.
	CacheSize int `json:"cacheSize,omitempty"`
	// CacheTTL: how long a plan, or the answer that none fits, is believed. Range: 1s and up. Default: 10m.
	CacheTTL metav1.Duration `json:"cacheTTL,omitempty"`
	// FailureTTL: how long a failed call is remembered before the next one. Range: 100ms and up. Default: 5s.
	FailureTTL metav1.Duration `json:"failureTTL,omitempty"`
	// BreakerFailures: failed calls in a row after which the planner is not asked for BreakerCooldown. Range: 1 and up.
	// Default: 5.
	BreakerFailures int `json:"breakerFailures,omitempty"`
	// BreakerCooldown: see BreakerFailures. Range: 100ms and up. Default: 10s.
	BreakerCooldown metav1.Duration `json:"breakerCooldown,omitempty"`

	// GPUResources: extended resources that are whole GPUs. Default: nvidia.com/gpu, amd.com/gpu.
	GPUResources []string `json:"gpuResources,omitempty"`
	// GPUTypeLabels: node labels that name the GPU type, the first that is there counts. Default: evenkeel.dev/gpu-type,
	// nvidia.com/gpu.product, amd.com/gpu.product-name.
	GPUTypeLabels []string `json:"gpuTypeLabels,omitempty"`
	// GPUTypes: GPU types of the planner by label value, on top of those that the planner's catalogue knows.
	GPUTypes map[string]string `json:"gpuTypes,omitempty"`
	// TopologyLabels: node labels from the widest domain to the narrowest. Default: topology.kubernetes.io/zone, and
	// core, spine, leaf and accelerator of network.topology.nvidia.com (NVIDIA Topograph).
	TopologyLabels []string `json:"topologyLabels,omitempty"`
	// DomainLabel: node label that names the domain of the scale-up link, where that spans nodes. Ranks that must share one
	// only go to nodes with the same value. "-": no label names it, and ranks are not held to domains. Default:
	// network.topology.nvidia.com/accelerator.
	DomainLabel string `json:"domainLabel,omitempty"`
	// InterNodeBytesPerSecond: bandwidth between nodes, per GPU and direction, of jobs that do not say. Range: 1e7 to
	// 1e13. Default: the planner's.
	InterNodeBytesPerSecond float64 `json:"interNodeBytesPerSecond,omitempty"`
}

func (a *Args) setDefaults() {
	setDefault(&a.Address, "127.0.0.1:50051")
	setDefault(&a.OnPlannerFailure, FailOpen)
	setDefault(&a.Deadline.Duration, 5*time.Second)
	setDefault(&a.Attempts, 3)
	setDefault(&a.CacheSize, 4096)
	setDefault(&a.CacheTTL.Duration, 10*time.Minute)
	setDefault(&a.FailureTTL.Duration, 5*time.Second)
	setDefault(&a.BreakerFailures, 5)
	setDefault(&a.BreakerCooldown.Duration, 10*time.Second)
	setDefault(&a.DomainLabel, "network.topology.nvidia.com/accelerator")
	if a.DomainLabel == "-" {
		a.DomainLabel = ""
	}
	if a.GPUResources == nil {
		a.GPUResources = []string{"nvidia.com/gpu", "amd.com/gpu"}
	}
	if a.GPUTypeLabels == nil {
		a.GPUTypeLabels = []string{annotations.GPUType, "nvidia.com/gpu.product", "amd.com/gpu.product-name"}
	}
	if a.TopologyLabels == nil {
		a.TopologyLabels = []string{"topology.kubernetes.io/zone", "network.topology.nvidia.com/core",
			"network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf",
			"network.topology.nvidia.com/accelerator"}
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate returns everything that is wrong, joined.
func (a *Args) validate() error {
	var faults []error
	check := func(ok bool, field string, value any, accepted string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s: %v; accepted: %s", field, value, accepted))
		}
	}
	check(a.OnPlannerFailure == FailOpen || a.OnPlannerFailure == FailClosed, "onPlannerFailure", a.OnPlannerFailure,
		"FailOpen, FailClosed")
	check(a.Deadline.Duration >= 10*time.Millisecond && a.Deadline.Duration <= 5*time.Minute, "deadline",
		a.Deadline.Duration, "10ms to 5m")
	check(a.Attempts >= 1 && a.Attempts <= 5, "attempts", a.Attempts, "1 to 5")
	check(a.CacheSize >= 1 && a.CacheSize <= 1000000, "cacheSize", a.CacheSize, "1 to 1000000")
	check(a.CacheTTL.Duration >= time.Second, "cacheTTL", a.CacheTTL.Duration, "1s and up")
	check(a.FailureTTL.Duration >= 100*time.Millisecond, "failureTTL", a.FailureTTL.Duration, "100ms and up")
	check(a.BreakerFailures >= 1, "breakerFailures", a.BreakerFailures, "1 and up")
	check(a.BreakerCooldown.Duration >= 100*time.Millisecond, "breakerCooldown", a.BreakerCooldown.Duration,
		"100ms and up")
	check(len(a.GPUResources) > 0, "gpuResources", a.GPUResources, "at least one")
	check(len(a.GPUTypeLabels) > 0, "gpuTypeLabels", a.GPUTypeLabels, "at least one")
	check(a.InterNodeBytesPerSecond == 0 || a.InterNodeBytesPerSecond >= 1e7 && a.InterNodeBytesPerSecond <= 1e13,
		"interNodeBytesPerSecond", a.InterNodeBytesPerSecond, "1e7 to 1e13")
	if err := a.client().Validate(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func (a *Args) client() evenkeel.Options {
	return evenkeel.Options{Address: a.Address, TLS: a.TLS, Timeout: a.Deadline.Duration, MaxAttempts: a.Attempts,
		UserAgent: "evenkeel-scheduler", WaitForServer: true}
}

// parseArgs reads the plugin's pluginConfig. A field that is not known is an error: a misspelt onPlannerFailure would
// change what happens on the worst day.
func parseArgs(configuration runtime.Object) (*Args, error) {
	args := &Args{}
	if raw, ok := configuration.(*runtime.Unknown); ok && raw != nil && len(raw.Raw) > 0 {
		if raw.ContentType != "" && raw.ContentType != runtime.ContentTypeJSON {
			return nil, fmt.Errorf("pluginConfig of %s: content type %s; accepted: JSON or YAML", Name, raw.ContentType)
		}
		decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(args); err != nil {
			return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
		}
		if _, err := decoder.Token(); err != io.EOF {
			return nil, fmt.Errorf("pluginConfig of %s: text after the object", Name)
		}
	}
	args.setDefaults()
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	return args, nil
}
