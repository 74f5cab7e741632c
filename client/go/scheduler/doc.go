// Package scheduler is the kube-scheduler plugin Evenkeel: it asks an evenkeel-server for the plan of a training job and
// places the job's pods by it. docs/SCHEDULER_PLUGIN.md says how to run it.
//
// A scheduling cycle never waits for the planner. A pod whose plan is unknown starts one call in the background for all
// pods of its job and waits in the queue; the answer brings them back. The plan then decides the GPU type, which ranks
// share a node (Filter), and how near pods lie to each other (Score). Reserve gives the pod its rank; plan, stage and
// rank are written to its annotations together with its node.
package scheduler
