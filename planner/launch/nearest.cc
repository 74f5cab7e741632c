#include "planner/launch/nearest.h"

#include <algorithm>
#include <utility>

namespace evenkeel::planner {
namespace {

const char* NameOf(Schedule schedule) {
  switch (schedule) {
    case Schedule::kOneFOneB:
      return "1F1B";
    case Schedule::kInterleaved:
      return "interleaved 1F1B";
    case Schedule::kGPipe:
      return "GPipe";
    case Schedule::kZeroBubble:
      return "zero-bubble ZB-H1";
  }
  return "";
}

class Restriction {
 public:
  Restriction(const Trials& trials, const Abilities& abilities, std::vector<LaunchNote>* notes)
      : trials_(trials), abilities_(abilities), notes_(notes), job_(trials.AsPlanned()) {}

  std::optional<Trial> Run() {
    trial_ = trials_.base();
    if (!HoldSchedule() || !HoldTower() || !HoldRecompute()) return std::nullopt;
    return trial_;
  }

 private:
  bool Take(std::optional<Trial> found, const char* topic, const std::string& text) {
    if (!found) {
      notes_->push_back({topic, text + " Nothing of that fits in memory."});
      return false;
    }
    const double slower = SlowerBy(*found, trial_);
    notes_->push_back(
        {topic, text + " Predicted step: " + PercentText(slower) + " longer.", slower});
    trial_ = std::move(*found);
    return true;
  }

  bool HoldSchedule() {
    const Schedule schedule = trial_.spec.schedule;
    const bool runs = trial_.spec.parallelism.pipeline == 1 || schedule == Schedule::kOneFOneB ||
                      (schedule == Schedule::kInterleaved && abilities_.interleaved) ||
                      (schedule == Schedule::kGPipe && abilities_.gpipe);
    if (runs) return true;
    OneChunk();
    return Take(trials_.Best(job_), "schedule",
                abilities_.name + " has no " + NameOf(schedule) +
                    "; 1F1B with one chunk per stage, cut anew for it.");
  }

  void OneChunk() {
    job_.constraints.schedule = Schedule::kOneFOneB;
    job_.constraints.virtual_stages = {1, 1};
  }

  // Cuts with the whole encoder on the first stage: it takes `first` language layers too, the last
  // stage as many as `last`, those between share the rest evenly.
  std::vector<std::vector<int64_t>> TowerCuts() const {
    const int64_t stages = trial_.spec.parallelism.pipeline;
    const int64_t tower = trials_.job().model.towers.front().encoder.layers;
    const int64_t layers = trials_.job().model.language_model.layers;
    const int64_t even = layers / (stages - 1);
    std::vector<std::vector<int64_t>> cuts;
    for (int64_t first = 0; first <= std::min<int64_t>(layers / stages, 4); ++first) {
      for (int64_t last = std::max<int64_t>(1, even - 3); last <= even + 1; ++last) {
        const int64_t between = stages - 2, rest = layers - first - last;
        if (rest < between || (between == 0 && rest != 0)) continue;
        std::vector<int64_t> cut = {tower + first};
        for (int64_t s = 0; s < between; ++s)
          cut.push_back(rest / between + (s < rest % between ? 1 : 0));
        cut.push_back(last);
        cuts.push_back(std::move(cut));
      }
    }
    return cuts;
  }

  bool HoldTower() {
    if (abilities_.tower_anywhere || trials_.job().model.towers.empty() ||
        trial_.spec.parallelism.pipeline == 1 || TowerIsFirst(trial_.spec))
      return true;
    OneChunk();
    std::optional<Trial> best;
    for (std::vector<int64_t>& cut : TowerCuts()) {
      job_.constraints.stage_layers = cut;
      std::optional<Trial> found = trials_.Best(job_);
      if (found && (!best || found->sample_ns < best->sample_ns)) {
        best = std::move(found);
        cut_ = cut;
      }
    }
    job_.constraints.stage_layers = cut_;
    return Take(std::move(best), "stages",
                abilities_.name +
                    " keeps all of the encoder on the first stage, without virtual stages here; "
                    "language layers per stage chosen anew, best of " +
                    std::to_string(TowerCuts().size()) + " cuts.");
  }

  bool HoldRecompute() {
    if (!abilities_.layers_one_by_one || RecomputesWholeLayers(trial_.spec)) return true;
    job_.constraints.recompute = RecomputePolicy::kWholeLayers;
    return Take(trials_.Best(job_), "recompute",
                abilities_.name +
                    " recomputes whole layers here, not parts of them; stages and layers chosen "
                    "anew.");
  }

  const Trials& trials_;
  const Abilities& abilities_;
  std::vector<LaunchNote>* notes_;
  Job job_;  // with the restrictions so far
  Trial trial_;
  std::vector<int64_t> cut_;
};

}  // namespace

std::optional<Trial> NearestRun(const Trials& trials, const Abilities& abilities,
                                std::vector<LaunchNote>* notes) {
  return Restriction(trials, abilities, notes).Run();
}

}  // namespace evenkeel::planner
