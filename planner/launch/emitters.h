// One emitter for each trainer, and the code that they share. An emitter fills in all of a Launch
// except its framework.
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

// Fills in what the trainer runs: `match` and, if `runs` differs from the plan, the stages,
// degrees, schedule and times of `runs`.
void Settle(const Trials& trials, const Trial& runs, Launch* out);

// Returns the pipeline of `spec` for --pipeline-model-parallel-layout: E, t, m and L stand for
// embedding, transformer layer, predicted token and loss, and | separates chunks.
std::string MegatronLayout(const ModelSpec& model, const PlanSpec& spec);

// Appends words of a command line.
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

// Returns a share in as many digits as it needs, up to nine.
std::string ShareText(double share);

// Returns whether the job offloads activations in the way that Megatron-LM's arguments can say.
bool MegatronOffloadsActivations(const Job& job, const Parallelism& p);

// Return a Python list of strings or integers. REQUIRES: names need no escapes.
std::string PythonList(const std::vector<std::string>& names);
std::string PythonList(const std::vector<int64_t>& values);

// Returns `tokens` rounded up to a length that tensor (with sequence) and context parallelism split
// evenly, because trainers refuse other lengths.
int64_t EvenLength(const Trials& trials, const PlanSpec& spec, int64_t tokens);

// Return the samples of a micro-batch as the trainer counts them (1 for a pack), and the most
// tokens of one of them.
int64_t SamplesOf(const Training& training);
int64_t SampleTokens(const Trials& trials);

// Adds a note of topic "model" if the model has several encoders: their names, and `text`, which
// says what becomes of them in the trainer's settings.
void NoteSeveralEncoders(const ModelSpec& model, const std::string& text, Launch* out);

// Adds a note of topic "precision" if products have fewer than 16 bits: where the trainer is told
// so, which the settings do not do.
void NoteRecipe(const Training& training, const std::string& where, Launch* out);

// Returns the first line of a generated file, without its comment sign.
std::string HeadLine(const Trials& trials);

// Returns the best plan of the job with weights sharded over all ranks and without pipeline and
// tensor parallelism, or the plan itself if it is such a plan. Returns nullopt if nothing fits, and
// adds a note that says so. `experts` says whether the trainer has expert parallelism.
std::optional<Trial> ShardedRun(const Trials& trials, const std::string& trainer, bool experts,
                                std::vector<LaunchNote>* notes);

// Layers that are recomputed whole (`encoder`, `language`) or by alternate products (`alternate`),
// by index in the model's order. Indices of several encoders continue from one encoder to the next.
struct RecomputedIndices {
  std::vector<int64_t> encoder, language, alternate;
};
RecomputedIndices RecomputedOf(const PlanSpec& spec);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_EMITTERS_H_
