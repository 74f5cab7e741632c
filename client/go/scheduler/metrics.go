package scheduler

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The plugin's metrics stand among the scheduler's own.
var (
	metricLookups = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "evenkeel", Subsystem: "plugin", Name: "lookups_total", StabilityLevel: metrics.ALPHA,
		Help: "Looks into the plugin's memory of plans, by result: hit, miss.",
	}, []string{"result"})
	metricCalls = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Namespace: "evenkeel", Subsystem: "plugin", Name: "planner_call_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Background calls to the planner, by result: planned, misfit, refused, unavailable.",
		Buckets: metrics.ExponentialBuckets(0.0005, 4, 8),
	}, []string{"result"})
	metricBreaker = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: "evenkeel", Subsystem: "plugin", Name: "circuit_breaker_state", StabilityLevel: metrics.ALPHA,
		Help: "0: the planner is asked; 1: one trial call; 2: it is left alone.",
	})
	metricPods = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "evenkeel", Subsystem: "plugin", Name: "pods_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods that got a node, by how: planned, unplanned (the planner was away).",
	}, []string{"how"})
	registerOnce sync.Once
)

func registerMetrics() {
	registerOnce.Do(func() { legacyregistry.MustRegister(metricLookups, metricCalls, metricBreaker, metricPods) })
}
