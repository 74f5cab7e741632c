// One emitter for each trainer, and what they share. An emitter fills in all of a Launch but its
// framework.
#ifndef EVENKEEL_PLANNER_LAUNCH_EMITTERS_H_
#define EVENKEEL_PLANNER_LAUNCH_EMITTERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch/trials.h"
#include "planner/plan.h"

namespace evenkeel::planner {

void EmitMegatron(const Trials& trials, Launch* out);
void EmitFlagScale(const Trials& trials, Launch* out);
void EmitDeepSpeed(const Trials& trials, Launch* out);
void EmitTorchtitan(const Trials& trials, Launch* out);
void EmitFsdp(const Trials& trials, Launch* out);
void EmitXTuner(const Trials& trials, Launch* out);

// What runs: match, and where it differs from the plan stages, degrees, schedule and times.
void Settle(const Trials& trials, const Trial& runs, Launch* out);

// The pipeline of `runs` as --pipeline-model-parallel-layout: E, t, m and L for embedding,
// transformer layer, predicted token and loss, | between chunks.
std::string MegatronLayout(const ModelSpec& model, const PlanSpec& spec);

// Words of a command line.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string>* words) : words_(words) {}
  void Add(const std::string& name) { words_->push_back(name); }
  void Add(const std::string& name, const std::string& value) {
    words_->push_back(name);
    words_->push_back(value);
  }
  void Add(const std::string& name, int64_t value) { Add(name, std::to_string(value)); }

 private:
  std::vector<std::string>* words_;
};

// Python text: ["a", "b"], and a list of integers. Names must need no escapes.
std::string PythonList(const std::vector<std::string>& names);
std::string PythonList(const std::vector<int64_t>& values);

// The longest pack in tokens, rounded up to what tensor (with sequence) and context parallelism
// split evenly: trainers refuse other lengths.
int64_t EvenLength(const Trials& trials, const PlanSpec& spec, int64_t tokens);

// The packs of a step, for notes and comments of files.
std::string BatchText(const Trials& trials, const PlanSpec& spec);

// First line of a generated file, after its comment sign.
std::string HeadLine(const Trials& trials);

// The best plan of the job when weights are sharded over all ranks, without pipeline and tensor
// parallelism; the plan itself where it is one. nullopt: nothing that fits; a note says so.
// `experts`: the trainer has expert parallelism.
std::optional<Trial> ShardedRun(const Trials& trials, const std::string& trainer, bool experts,
                                std::vector<LaunchNote>* notes);

// Indices of layers that recompute all of themselves, of the encoder and of the language model, in
// the order of the model.
struct RecomputedIndices {
  std::vector<int64_t> encoder, language;
};
RecomputedIndices RecomputedOf(const PlanSpec& spec);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_EMITTERS_H_
