package scheduler

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Names and aliases of the planner's catalogue, which contain the products as node labellers write them. Made by
// gpu_types.sh; a test compares them with a real server.
//
//go:embed gpu_types.json
var catalogueJSON []byte

// gpuTypes maps label values to GPU types of the planner.
type gpuTypes struct {
	byName map[string]string
	seen   sync.Map // label value as it stands -> GPU type; spares the hot path the lower case
}

func newGPUTypes(additional map[string]string) (*gpuTypes, error) {
	types := &gpuTypes{}
	if err := json.Unmarshal(catalogueJSON, &types.byName); err != nil {
		return nil, fmt.Errorf("gpu_types.json: %w", err)
	}
	for product, gpuType := range additional {
		types.byName[normalise(product)] = gpuType
	}
	return types, nil
}

func normalise(product string) string {
	return strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(product))
}

// nodeGPUs returns the GPU type of a node, "" if no label names one, and what the label says. Parts of GPUs ("-MIG-",
// "-SHARED") are no GPU type of the catalogue, so such nodes are left alone.
func (t *gpuTypes) nodeGPUs(node *v1.Node, labels []string) (gpuType, product string) {
	for _, key := range labels {
		if product = node.Labels[key]; product == "" {
			continue
		}
		known, ok := t.seen.Load(product)
		if !ok {
			known = t.byName[normalise(product)]
			t.seen.Store(product, known)
		}
		return known.(string), product
	}
	return "", ""
}

// offer is a GPU type with enough nodes for a job.
type offer struct {
	gpuType     string
	gpusPerNode int64
}

// inventory counts the cluster's GPUs by type, kept current by node events.
type inventory struct {
	types *gpuTypes
	args  *Args

	mu      sync.Mutex
	nodes   map[string]nodeGPUs
	domains map[string]int32            // numbers of topology domains, from 1
	memo    map[string]offersFor        // by what they are for; emptied by every change
	names   map[string]sets.Set[string] // nodes by type; emptied like memo, never changed once made

	known atomic.Pointer[topologies] // nil: to be made again
}

type nodeGPUs struct {
	gpuType  string
	resource v1.ResourceName
	count    int64
	at       topology
}

func (n nodeGPUs) equal(other nodeGPUs) bool {
	return n.gpuType == other.gpuType && n.resource == other.resource && n.count == other.count &&
		slices.Equal(n.at, other.at)
}

type offersFor struct {
	offers []offer
	key    string
	why    string // there are no offers
}

func newInventory(types *gpuTypes, args *Args) *inventory {
	return &inventory{types: types, args: args, nodes: map[string]nodeGPUs{}, domains: map[string]int32{},
		memo: map[string]offersFor{}, names: map[string]sets.Set[string]{}}
}

// update takes a node in; `gone` takes it out.
func (i *inventory) update(node *v1.Node, gone bool) {
	entry := nodeGPUs{}
	if !gone {
		entry.gpuType, _ = i.types.nodeGPUs(node, i.args.GPUTypeLabels)
		for _, name := range i.args.GPUResources {
			if quantity, ok := node.Status.Allocatable[v1.ResourceName(name)]; ok {
				entry.resource, entry.count = v1.ResourceName(name), quantity.Value()
				break
			}
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !gone {
		entry.at = i.topology(node)
	}
	if before, known := i.nodes[node.Name]; known == !gone && before.equal(entry) {
		return // most updates of a node change its heartbeat only
	}
	if gone {
		delete(i.nodes, node.Name)
	} else {
		i.nodes[node.Name] = entry
	}
	clear(i.memo)
	clear(i.names)
	i.known.Store(nil)
}

// topology numbers a node's domains, so that comparing nodes compares numbers. Needs mu.
func (i *inventory) topology(node *v1.Node) topology {
	made := make(topology, len(i.args.TopologyLabels))
	around := int32(0) // the same name in two zones is two domains
	for at, key := range i.args.TopologyLabels {
		if value := node.Labels[key]; value != "" {
			name := fmt.Sprint(at, " ", around, " ", value)
			if i.domains[name] == 0 {
				i.domains[name] = int32(len(i.domains) + 1)
			}
			around = i.domains[name]
			made[at] = around
		}
	}
	return made
}

// topologies are the nodes' domains: many nodes share few combinations. Never changed once made.
type topologies struct {
	of       map[string]int // by node, into distinct
	distinct []topology
	members  [][]string // nodes of each of them
}

// topologies of all nodes.
func (i *inventory) topologies() *topologies {
	if known := i.known.Load(); known != nil {
		return known
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	made := &topologies{of: make(map[string]int, len(i.nodes))}
	numbers := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(i.nodes)) {
		node := i.nodes[name]
		key := fmt.Sprint(node.at)
		if _, ok := numbers[key]; !ok {
			numbers[key] = len(made.distinct)
			made.distinct = append(made.distinct, node.at)
			made.members = append(made.members, nil)
		}
		made.members[numbers[key]] = append(made.members[numbers[key]], name)
		made.of[name] = numbers[key]
	}
	i.known.Store(made)
	return made
}

// at returns a node's domains; nil where the node is not known yet.
func (t *topologies) at(node string) topology {
	if number, ok := t.of[node]; ok {
		return t.distinct[number]
	}
	return nil
}

// offersFor returns the GPU types with enough GPUs in all, free or not, in nodes that can hold such a pod.
func (i *inventory) offersFor(job *podJob) offersFor {
	i.mu.Lock()
	defer i.mu.Unlock()
	memoKey := fmt.Sprint(job.pods, " ", job.podGPUs, " ", job.resource, " ", job.gpuType)
	if known, ok := i.memo[memoKey]; ok {
		return known
	}
	places, perNode := map[string]int64{}, map[string]map[int64]int{}
	for _, node := range i.nodes {
		if node.gpuType == "" || node.resource != job.resource || node.count < job.podGPUs ||
			job.gpuType != "" && i.types.named(job.gpuType) != node.gpuType {
			continue
		}
		places[node.gpuType] += node.count / job.podGPUs
		if perNode[node.gpuType] == nil {
			perNode[node.gpuType] = map[int64]int{}
		}
		perNode[node.gpuType][node.count]++
	}
	made := offersFor{}
	var short []string
	for gpuType, count := range places {
		if count < int64(job.pods) {
			short = append(short, fmt.Sprintf("%s for %d", gpuType, count))
			continue
		}
		made.offers = append(made.offers, offer{gpuType, plannedNode(perNode[gpuType], job)})
	}
	slices.SortFunc(made.offers, func(a, b offer) int { return strings.Compare(a.gpuType, b.gpuType) })
	made.offers = made.offers[:min(len(made.offers), 16)] // the planner compares no more
	made.key = fmt.Sprint(job.pods, " ", job.podGPUs, " ", made.offers)
	if len(made.offers) == 0 {
		slices.Sort(short)
		made.why = noPlace(job, short)
	}
	i.memo[memoKey] = made
	return made
}

func noPlace(job *podJob, short []string) string {
	kind := "of a type that the planner knows"
	if job.gpuType != "" {
		kind = "of type " + job.gpuType
	}
	text := fmt.Sprintf("the cluster has no nodes %s for %d pods of %d %s", kind, job.pods, job.podGPUs, job.resource)
	if len(short) > 0 {
		text += "; it has room for fewer: " + strings.Join(short, ", ")
	}
	return text
}

// named returns the catalogue's name of a GPU type that a person wrote.
func (t *gpuTypes) named(text string) string {
	if gpuType, ok := t.byName[normalise(text)]; ok {
		return gpuType
	}
	return text
}

// plannedNode returns how many GPUs of a node the job uses: as many as most nodes have, or less where the job would not
// use all of them, since the planner takes equal nodes only.
func plannedNode(nodes map[int64]int, job *podJob) int64 {
	most := int64(0)
	for count, number := range nodes {
		if most == 0 || number > nodes[most] || number == nodes[most] && count > most {
			most = count
		}
	}
	use := min(most/job.podGPUs*job.podGPUs, job.gpus())
	for ; job.gpus()%use != 0; use -= job.podGPUs {
	}
	return use
}

// nodesOf returns the names of all nodes of a type, and whether that is all nodes there are. Not to be changed.
func (i *inventory) nodesOf(gpuType string) (names sets.Set[string], all bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	names, ok := i.names[gpuType]
	if !ok {
		names = sets.New[string]()
		for name, node := range i.nodes {
			if node.gpuType == gpuType {
				names.Insert(name)
			}
		}
		i.names[gpuType] = names
	}
	return names, len(names) == len(i.nodes)
}
