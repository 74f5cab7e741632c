package annotations_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

func TestShippedExamplesAreJobs(t *testing.T) {
	paths, err := filepath.Glob("../../../deploy/examples/*.json")
	if err != nil || len(paths) == 0 {
		t.Skip("outside of the repository")
	}
	for _, path := range paths {
		if strings.HasSuffix(path, ".histogram.json") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		request, err := annotations.Request(map[string]string{annotations.Job: string(text)}, nil)
		if err != nil || request.GetJob().GetModel() == nil || request.GetLabel() == "" {
			t.Errorf("%s: %v, %v", path, request, err)
		}
	}
}

func TestEveryWayToSayIt(t *testing.T) {
	request, err := annotations.Request(map[string]string{
		annotations.Job: `{"training":{"global_batch_samples":64},"cluster":{"pools":[{"gpu_type":"h200"}]}}`},
		map[string]string{annotations.Model: "llama3-8b", annotations.DatasetRef: "dataset-1"})
	if err != nil {
		t.Fatal(err)
	}
	job := request.GetJob()
	if err := annotations.SetGPUs(job, 16, []*evenkeelv1.GpuPool{{GpuType: "a100"}}, 5e10); err != nil {
		t.Fatal(err)
	}
	pool := job.GetCluster().GetPools()[0]
	if job.GetModel().GetName() != "llama3-8b" || job.GetDataset().GetDatasetRef() != "dataset-1" ||
		job.GetTraining().GetGlobalBatchSamples() != 64 || pool.GetGpuType() != "h200" || pool.GetGpuCount() != 16 ||
		pool.GetInterNodeBytesPerSecond() != 5e10 {
		t.Errorf("job %v", job)
	}
}

func TestContradictionsAndTyposAreNamed(t *testing.T) {
	for text, given := range map[string]map[string]string{
		"model.name":    {annotations.Model: "a", annotations.Job: `{"model":{"name":"b"}}`},
		"dataset":       {annotations.DatasetRef: "d", annotations.Job: `{"dataset":{"histogram":{}}}`},
		"modell":        {annotations.Job: `{"modell":{}}`},
		"neither":       {annotations.Job: `{`},
		"unknown field": {annotations.Job: `{"job":{"trainning":{}}}`},
	} {
		if _, err := annotations.Request(given, nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want %q", given, err, text)
		}
	}
	job := &evenkeelv1.Job{Cluster: &evenkeelv1.Cluster{Pools: []*evenkeelv1.GpuPool{{GpuCount: 8}}}}
	if err := annotations.SetGPUs(job, 16, nil, 0); err == nil || !strings.Contains(err.Error(), "pools[0]") {
		t.Errorf("counts that differ: %v", err)
	}
}

func TestTopologyOfAPlan(t *testing.T) {
	plan := &evenkeelv1.Plan{Placement: &evenkeelv1.Placement{GpusPerNode: 4, Tiers: []*evenkeelv1.PlacementTier{
		{Name: "scale-up domain", RankCount: 64, UnitCount: 2, RequiredRanks: 8},
		{Name: "pod", RankCount: 128, UnitCount: 1, RequiredRanks: 1}}}}
	if ranks := annotations.RanksOfADomain(plan); ranks != 8 {
		t.Errorf("%d ranks", ranks)
	}
	want := "16 consecutive pods are planned in one scale-up domain, and 2 must be; 32 consecutive pods are planned in one pod"
	if text := annotations.TopologyText(plan, 4); text != want {
		t.Errorf("%q", text)
	}
	plan.Placement.Tiers[0].RequiredRanks = 4
	if ranks := annotations.RanksOfADomain(plan); ranks != 1 {
		t.Errorf("%d ranks, but a node holds them", ranks)
	}
	if ranks, text := annotations.RanksOfADomain(&evenkeelv1.Plan{}), annotations.TopologyText(&evenkeelv1.Plan{}, 8); ranks != 1 || text != "" {
		t.Errorf("a plan without tiers: %d, %q", ranks, text)
	}
}
