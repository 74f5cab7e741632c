// Training time with failures and checkpoints: docs/COST_MODEL.md, section 8.
#ifndef EVENKEEL_PLANNER_COST_GOODPUT_H_
#define EVENKEEL_PLANNER_COST_GOODPUT_H_

#include <cstdint>
#include <optional>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the bytes of one checkpoint: the weights as they are held and, for components whose
// weights all train, the optimizer's master weights and moments. Each byte counts once.
int64_t CheckpointBytes(const ModelSpec& model, const Training& training);

// Returns the seconds of training between two checkpoints that give the least expected time, if a
// checkpoint takes `write` seconds and failures are `between_failures` seconds apart on average
// (Young 1974, CACM 17(9), p. 530; Daly 2006, FGCS 22(3), eq. 37).
double BestCheckpointInterval(double write, double between_failures);

// Returns the expected seconds for `work` seconds of training with a checkpoint after every
// `interval` of them. Failures are exponentially distributed and also strike during checkpoints and
// restarts (Daly 2006, eq. 20).
double ExpectedSeconds(double work, double interval, double write, double restart,
                       double between_failures);

// Returns the goodput with a whole number of steps between checkpoints, or nullopt if the job does
// not say how often nodes fail.
std::optional<Goodput> GoodputOf(const Job& job, const Prediction& prediction);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_GOODPUT_H_
