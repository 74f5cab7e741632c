// What failures and checkpoints make of a training time: docs/COST_MODEL.md, section 8.
#ifndef EVENKEEL_PLANNER_COST_GOODPUT_H_
#define EVENKEEL_PLANNER_COST_GOODPUT_H_

#include <cstdint>
#include <optional>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Weights, and of what trains fp32 master weights and both moments of Adam: each byte once.
int64_t CheckpointBytes(const ModelSpec& model);

// Seconds of training between two checkpoints that take `write` seconds each, where failures are
// `between_failures` seconds apart on average: the least expected time (Young 1974, CACM 17(9),
// p. 530; Daly 2006, FGCS 22(3), eq. 37).
double BestCheckpointInterval(double write, double between_failures);

// Expected seconds to get `work` seconds of training done with a checkpoint after every `interval`
// of them: failures are exponential, and strike checkpoints and restarts too (Daly 2006, eq. 20).
double ExpectedSeconds(double work, double interval, double write, double restart,
                       double between_failures);

// nullopt where the job does not say how often nodes fail. The interval is a whole number of steps.
std::optional<Goodput> GoodputOf(const Job& job, const Prediction& prediction);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_GOODPUT_H_
