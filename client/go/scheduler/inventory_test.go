package scheduler

import (
	"maps"
	"testing"

	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
	"evenkeel.dev/client/go/plannertest"
)

// TestGPUTypesAreTheCatalogues compares gpu_types.json with what a real server says.
func TestGPUTypesAreTheCatalogues(t *testing.T) {
	client, err := evenkeel.New(evenkeel.Options{Address: plannertest.Start(t).Address})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	catalogue := map[string]string{}
	for request := (&evenkeelv1.ListGpuTypesRequest{}); ; {
		page, err := client.ListGpuTypes(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, gpu := range page.GetGpus() {
			for _, name := range append(gpu.GetAliases(), gpu.GetName()) {
				catalogue[normalise(name)] = gpu.GetName()
			}
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
	}
	types, err := newGPUTypes(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(types.byName, catalogue) {
		t.Errorf("gpu_types.json is not the catalogue's: run client/go/scheduler/gpu_types.sh\n%v\n%v", types.byName, catalogue)
	}
}
