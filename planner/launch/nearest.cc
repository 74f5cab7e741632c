#include "planner/launch/nearest.h"

#include <algorithm>
#include <utility>

#include "planner/base/decimal_text.h"

namespace evenkeel::planner {
namespace {

class Restriction {
 public:
  Restriction(const Trials& trials, const Abilities& abilities, std::vector<LaunchNote>* notes)
      : trials_(trials), abilities_(abilities), notes_(notes), job_(trials.AsPlanned()) {}

  std::optional<Trial> Run() {
    trial_ = trials_.base();
    if (!HoldImages() || !HoldSchedule() || !HoldTower() || !HoldRecompute()) return std::nullopt;
    return trial_;
  }

 private:
  bool Take(std::optional<Trial> found, const char* topic, const std::string& text) {
    if (!found) {
      notes_->push_back({topic, text + " No such run fits in memory."});
      return false;
    }
    const double slower = SlowerBy(*found, trial_);
    notes_->push_back(
        {topic, text + " Predicted time per sample: " + LongerText(slower) + ".", slower});
    trial_ = std::move(*found);
    return true;
  }

  // None of these trainers shares the images of a pack.
  bool HoldImages() {
    if (trial_.spec.parallelism.encoder_data == 1) return true;
    split_ = *job_.training.trainer;
    split_.encoder_split = EncoderSplit::kNone;
    job_.training.trainer = &split_;
    job_.constraints.encoder_data = {1, 1};
    return Take(trials_.Best(job_), "stages",
                abilities_.name +
                    " does not share the images of a pack between ranks: encoders are split as "
                    "the language model, and every context rank runs them on the whole pack.");
  }

  bool HoldSchedule() {
    const PlanSpec& spec = trial_.spec;
    const Schedule schedule = spec.schedule;
    const int64_t stages = spec.parallelism.pipeline;
    const bool loops = schedule == Schedule::kInterleaved && abilities_.interleaved;
    const bool even = !abilities_.even_rounds ||
                      spec.micro_batches % std::max<int64_t>(1, spec.micro_batches / stages) == 0;
    const bool fills = spec.micro_batches >= stages;
    if (stages == 1 || schedule == Schedule::kOneFOneB || (loops && even && fills) ||
        (schedule == Schedule::kGPipe && abilities_.gpipe))
      return true;
    std::string less;
    if (loops)
      less = " for " + std::to_string(spec.micro_batches) + " micro-batches over " +
             std::to_string(stages) + " stages";
    OneChunk();
    return Take(trials_.Best(job_), "schedule",
                abilities_.name + " has no " + std::string(TitleOf(schedule)) + less +
                    "; 1F1B with one chunk per stage, cut anew for it.");
  }

  void OneChunk() {
    job_.constraints.schedule = Schedule::kOneFOneB;
    job_.constraints.virtual_stages = {1, 1};
  }

  // Returns the best run with the whole encoder on the first stage, of the degrees that `c` admits.
  std::optional<Trial> WithWholeTower(const Constraints& c) {
    whole_ = *job_.training.trainer;
    whole_.cuts_encoder = false;
    job_.training.trainer = &whole_;
    job_.constraints = c;
    job_.constraints.stage_layers.clear();
    job_.constraints.partition_method = PartitionMethod::kExact;
    OneChunk();
    const RecomputePolicy policy = trials_.job().constraints.recompute;
    if (abilities_.one_recompute_setting && policy != RecomputePolicy::kForbidden &&
        policy != RecomputePolicy::kFull)
      job_.constraints.recompute = RecomputePolicy::kOneSetting;
    return trials_.Best(job_);
  }

  bool HoldTower() {
    const int64_t stages = trial_.spec.parallelism.pipeline;
    if (abilities_.tower_anywhere || trials_.job().model.towers.empty() || stages == 1 ||
        TowerIsFirst(trial_.spec))
      return true;
    std::optional<Trial> best = WithWholeTower(job_.constraints);
    std::string text = abilities_.name +
                       " keeps all of the encoder on the first stage, without virtual stages here.";
    const Constraints& constraints = trials_.job().constraints;
    if (!trials_.plan().grouping && constraints.stage_layers.empty()) {
      const Job pinned = job_;
      std::optional<Trial> free = WithWholeTower(constraints);
      if (free && (!best || free->sample_ns < best->sample_ns)) {
        text += " Other degrees are better then";
        if (best)
          text += "; with the plan's a step would be " + PercentText(SlowerBy(*best, *free)) +
                  " longer";
        text += ".";
        best = std::move(free);
      } else {
        job_ = pinned;
      }
    }
    return Take(std::move(best), "stages", text);
  }

  bool HoldRecompute() {
    const RecomputeParts also =
        abilities_.alternate_products ? RecomputeParts{kAlternateProducts} : 0;
    if (!abilities_.layers_one_by_one || RecomputesWholeLayers(trial_.spec, also)) return true;
    job_.constraints.recompute = RecomputePolicy::kWholeLayers;
    return Take(trials_.Best(job_), "recompute",
                abilities_.name +
                    " recomputes whole layers here, not parts of them; stages and layers chosen "
                    "anew.");
  }

  const Trials& trials_;
  const Abilities& abilities_;
  std::vector<LaunchNote>* notes_;
  Job job_;        // the job with the restrictions so far
  Trainer split_;  // the job's, if it shares no images
  Trainer whole_;  // the same, if it cannot cut an encoder
  Trial trial_;
};

}  // namespace

std::optional<Trial> NearestRun(const Trials& trials, const Abilities& abilities,
                                std::vector<LaunchNote>* notes) {
  return Restriction(trials, abilities, notes).Run();
}

}  // namespace evenkeel::planner
