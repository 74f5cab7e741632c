#include "planner/launch/nearest.h"

#include <algorithm>
#include <utility>

#include "planner/base/decimal_text.h"

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
  struct Cut {
    Trial trial;
    Job job;  // the job with the constraints of the cut
  };

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

  bool HoldSchedule() {
    const PlanSpec& spec = trial_.spec;
    const Schedule schedule = spec.schedule;
    const int64_t stages = spec.parallelism.pipeline;
    const bool loops = schedule == Schedule::kInterleaved && abilities_.interleaved;
    const bool even = !abilities_.even_rounds ||
                      spec.micro_batches % std::max<int64_t>(1, spec.micro_batches / stages) == 0;
    if (stages == 1 || schedule == Schedule::kOneFOneB || (loops && even) ||
        (schedule == Schedule::kGPipe && abilities_.gpipe))
      return true;
    std::string less;
    if (loops)
      less = " for " + std::to_string(spec.micro_batches) + " micro-batches over " +
             std::to_string(stages) + " stages";
    OneChunk();
    return Take(trials_.Best(job_), "schedule",
                abilities_.name + " has no " + NameOf(schedule) + less +
                    "; 1F1B with one chunk per stage, cut anew for it.");
  }

  void OneChunk() {
    job_.constraints.schedule = Schedule::kOneFOneB;
    job_.constraints.virtual_stages = {1, 1};
  }

  // Returns cuts with the whole encoder on the first stage, which also takes `first` language
  // layers. The last stage takes `last` layers, and the stages in between share the rest evenly.
  std::vector<std::vector<int64_t>> TowerCuts(int64_t stages) const {
    const int64_t tower = trials_.job().model.towers.front().encoder.layers;
    const int64_t layers = trials_.job().model.language_model.layers;
    const int64_t even = layers / (stages - 1), between = stages - 2;
    std::vector<std::vector<int64_t>> cuts;
    for (int64_t first = 0; first <= std::min<int64_t>(layers / stages, 2); ++first) {
      for (int64_t last = std::max<int64_t>(1, even - 2); last <= even; ++last) {
        const int64_t rest = layers - first - last;
        if (rest < between || (between == 0 && rest != 0)) continue;
        std::vector<int64_t> cut = {tower + first};
        for (int64_t s = 0; s < between; ++s)
          cut.push_back(rest / between + (s < rest % between ? 1 : 0));
        cut.push_back(last);
        cuts.push_back(std::move(cut));
      }
    }
    if (between > 0) return cuts;
    cuts.clear();
    for (int64_t first = 0; first <= layers / 4; ++first)
      cuts.push_back({tower + first, layers - first});
    return cuts;
  }

  // Tries cuts with the tower on the first of `stages` stages; the other degrees are as free as in
  // the job.
  void TryTower(int64_t stages) {
    const Constraints& asked = trials_.job().constraints;
    const DegreeRange& range = asked.pipeline_parallel;
    const bool allowed = stages >= range.min && (range.max == 0 || stages <= range.max);
    Job job = job_;
    if (stages != trials_.base().spec.parallelism.pipeline) {
      if (!allowed || !asked.stage_layers.empty()) return;
      job.constraints = asked;
      job.constraints.recompute = job_.constraints.recompute;
      job.constraints.partition_method = PartitionMethod::kExact;
      job.constraints.schedule = Schedule::kOneFOneB;
      job.constraints.virtual_stages = {1, 1};
      job.constraints.pipeline_parallel = {stages, stages};
    }
    std::vector<std::vector<int64_t>> cuts = {{}};
    if (stages > 1) cuts = TowerCuts(stages);
    for (std::vector<int64_t>& cut : cuts) {
      if (trials_.stopped()) return;
      job.constraints.stage_layers = cut;
      std::optional<Trial> found = trials_.Best(job);
      if (found) cuts_.push_back({std::move(*found), job});
    }
  }

  // Returns the best of cuts_ by its time under the trainer's rules, or nullptr if none fits. A
  // trial's own time is a lower bound on that time.
  const Cut* BestCut(double* sample_ns) const {
    std::vector<const Cut*> order;
    for (const Cut& cut : cuts_) order.push_back(&cut);
    std::stable_sort(order.begin(), order.end(), [](const Cut* a, const Cut* b) {
      return a->trial.sample_ns < b->trial.sample_ns;
    });
    const Cut* best = nullptr;
    for (const Cut* cut : order) {
      if (best && cut->trial.sample_ns >= *sample_ns) break;
      const std::optional<double> ns =
          abilities_.judge ? abilities_.judge(cut->trial) : cut->trial.sample_ns;
      if (!ns || (best && *ns >= *sample_ns)) continue;
      best = cut;
      *sample_ns = *ns;
    }
    return best;
  }

  bool HoldTower() {
    const int64_t stages = trial_.spec.parallelism.pipeline;
    if (abilities_.tower_anywhere || trials_.job().model.towers.empty() || stages == 1 ||
        TowerIsFirst(trial_.spec))
      return true;
    OneChunk();
    TryTower(stages);
    double kept = 0, least = 0;
    BestCut(&kept);
    if (trials_.plan().groups.empty()) {
      for (const int64_t other : {1, 2, 4, 8, 16}) {
        if (other < stages) TryTower(other);
      }
    }
    const Cut* const best = BestCut(&least);
    std::string text = abilities_.name +
                       " keeps all of the encoder on the first stage, without virtual stages here: "
                       "the best of " +
                       std::to_string(cuts_.size()) + " cuts that fit.";
    if (best && best->trial.spec.parallelism.pipeline != stages) {
      text += " Fewer stages are better then, and other degrees change with them";
      if (kept > 0) {
        text += "; with the plan's " + std::to_string(stages) + " stages a step would be " +
                PercentText(kept / least - 1) + " longer";
      }
      text += ".";
    }
    if (best) job_ = best->job;
    return Take(best ? std::optional(best->trial) : std::nullopt, "stages", text);
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
  Job job_;  // the job with the restrictions so far
  Trial trial_;
  std::vector<Cut> cuts_;  // the cuts that fit
};

}  // namespace

std::optional<Trial> NearestRun(const Trials& trials, const Abilities& abilities,
                                std::vector<LaunchNote>* notes) {
  return Restriction(trials, abilities, notes).Run();
}

}  // namespace evenkeel::planner
