// The degrees of parallelism that a job may run with: the one enumeration that the search, the
// estimate of its cost and the validation of constraints share.
#ifndef EVENKEEL_PLANNER_SPACE_DEGREES_H_
#define EVENKEEL_PLANNER_SPACE_DEGREES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/job.h"
#include "planner/space/parallelism.h"
#include "planner/space/tensor_parallel.h"

namespace evenkeel::planner {

// Returns the number of transformer layers of all components.
int64_t TransformerLayers(const ModelSpec& model);

// Returns whether the job leaves the number of virtual stages to the planner. If so, a trainer that
// does not interleave has one.
bool VirtualStagesFree(const Constraints& constraints);

// Returns whether the job asks for neither stages, virtual stages nor another schedule than 1F1B.
bool LeavesStages(const Constraints& constraints);

// Returns the partition method of a job that sets none: the trainer's, if the job LeavesStages.
PartitionMethod DefaultMethod(const Trainer& trainer, const Constraints& constraints);

// Returns whether the first stage runs the whole encoder, with its projector, because the trainer
// cannot cut it. A job that asks for a partition, or for another schedule than 1F1B, is exempt.
bool KeepsEncoderWhole(const Job& job);

bool Admits(const DegreeRange& range, int64_t degree);

// Returns how the job's context-parallel ranks run attention under a tensor-parallel degree.
ContextRules ContextRulesOf(const Job& job, int64_t tensor);

// Returns the values of Parallelism::encoder_data that the job's trainer has under these degrees
// and the constraints admit, ascending.
std::vector<int64_t> EncoderDataChoices(const Job& job, const Parallelism& p);

// Takes degrees with virtual_stages 1, and the inclusive range of virtual stages that they may
// have, whose max is never 0. Returns false to end the enumeration.
using VisitDegrees = std::function<bool(const Parallelism&, const DegreeRange& virtual_stages)>;

// Visits all degrees that the constraints, the model and the node allow, by tensor, context,
// pipeline and expert ascending; tensor x context x pipeline x data is the GPU count.
//   tensor: divides a scale-up domain (a node, where that spans none), heads and width. Ranks of a
//     group share one.
//   context: for Ulysses, divides the heads of a tensor rank (Jacobs 2023, arXiv 2309.14509); for
//     ring, any degree, except for what ContextFault says.
//   expert: divides the experts and the ranks of a pipeline stage (over expert_tensor). 1 with a
//     fused step that the trainer does not have with expert parallelism.
//   pipeline: at most the transformer layers, or, if KeepsEncoderWhole, one stage more than the
//     language model has layers. 1 where weights are sharded (ZeRO-3, FSDP).
//   encoder_data: EncoderDataChoices.
//   virtual stages: each chunk has at least one layer. 1 if the job leaves it open and the
//     trainer does not interleave, or if KeepsEncoderWhole.
// Returns false if `visit` ended the enumeration.
bool ForEachDegrees(const Job& job, const VisitDegrees& visit);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_DEGREES_H_
