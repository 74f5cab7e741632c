#include "planner/search/setting_choices.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/layer_profile.h"
#include "planner/cuts/even_layers.h"
#include "planner/recompute/one_setting.h"
#include "planner/space/trainer_recompute.h"

namespace evenkeel::planner {
namespace {

bool RecomputesEncoder(const LayerProfile& profile) {
  return std::any_of(profile.classes.begin(), profile.classes.end(), [](const LayerCost& layer) {
    return layer.kind == LayerKind::kEncoder && layer.recomputable();
  });
}

class Choices {
 public:
  Choices(const Job& job, const Prospect& prospect, Profiles& profiles)
      : job_(job),
        prospect_(prospect),
        profiles_(profiles),
        profile_(profiles.EntryFor(prospect.parallelism).profile),
        even_(job, profile_, prospect.parallelism, prospect.schedule, prospect.micro_batches),
        under_(profile_) {}

  std::vector<Prospect> All() {
    Add({});
    for (const RecomputeSetting& setting : SelectiveSettings(job_))
      if (HasModesOf(profile_, setting)) Add(setting);
    for (const bool encoder : {false, true}) {
      if (encoder && !RecomputesEncoder(profile_)) continue;
      if (job_.training.trainer->block_recompute) AddBlock(encoder);
      Add({.block = RecomputeSetting::kEveryLayer, .encoder = encoder});
    }
    return std::move(choices_);
  }

 private:
  bool EvenFits(const RecomputeSetting& setting) {
    under_.setting = setting;
    return even_.Fit(under_);
  }

  void Add(const RecomputeSetting& setting) { Add(setting, EvenFits(setting)); }

  void Add(const RecomputeSetting& setting, bool even_fits) {
    Prospect choice = WithSetting(job_, setting, prospect_, profiles_);
    if (!even_fits) choice.estimate_ns += WholeLayers();
    choices_.push_back(std::move(choice));
  }

  // Adds the shortest block with which the even cut fits.
  void AddBlock(bool encoder) {
    const int64_t chunks = prospect_.parallelism.pipeline * prospect_.parallelism.virtual_stages;
    const int64_t most = CeilDivide(job_.model.language_model.layers, chunks);
    int64_t low = 1, high = most + 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (EvenFits({.block = middle, .encoder = encoder})) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    Add({.block = std::min(low, most), .encoder = encoder}, low <= most);
  }

  // Returns the ns that a step repeats if all layers are recomputed.
  int64_t WholeLayers() const {
    double repeated_ns = 0;
    for (int64_t i = 0; i < profile_.size(); ++i)
      repeated_ns += static_cast<double>(profile_.at(i).modes.back().repeated_ns);
    return Nearest(repeated_ns / static_cast<double>(prospect_.parallelism.pipeline) *
                   static_cast<double>(prospect_.micro_batches));
  }

  const Job& job_;
  const Prospect& prospect_;
  Profiles& profiles_;
  const LayerProfile& profile_;
  const EvenLayers even_;
  LayerProfile under_;  // with one of the settings
  std::vector<Prospect> choices_;
};

}  // namespace

RecomputeSetting EveryLayer() { return {.block = RecomputeSetting::kEveryLayer, .encoder = true}; }

std::vector<Prospect> SettingChoices(const Job& job, const Prospect& prospect, Profiles& profiles) {
  return Choices(job, prospect, profiles).All();
}

void SettingQueue::Push(const Prospect& prospect, size_t family, Blocks blocks) {
  pending_.push({order_of_(prospect), added_++, family, blocks, prospect});
}

std::optional<Prospect> SettingQueue::Next() {
  settled_.resize(families_);
  while (!pending_.empty()) {
    last_ = pending_.top();
    pending_.pop();
    if (!settled_[last_.family]) return last_.prospect;
  }
  return std::nullopt;
}

void SettingQueue::Expand() {
  for (const Prospect& choice : SettingChoices(job_, last_.prospect, profiles_))
    Push(choice, last_.family, Blocks::kBoth);
}

void SettingQueue::Report(Tried tried) {
  const RecomputeSetting& setting = *last_.prospect.setting;
  // If no cut is too large without recompute, recompute makes none quicker.
  if (tried == Tried::kSettled && setting == RecomputeSetting{}) settled_[last_.family] = true;
  if (setting.uniform()) return;
  const auto add = [this, &setting](int64_t block, Blocks blocks) {
    RecomputeSetting other = setting;
    other.block = block;
    Prospect prospect = WithSetting(job_, other, last_.prospect, profiles_);
    prospect.longer_block = blocks == Blocks::kLonger;
    prospect.shorter_block = blocks == Blocks::kShorter;
    Push(prospect, last_.family, blocks);
  };
  // A shorter block may let an uneven cut fit, unless no cut fits with this one.
  if (last_.blocks != Blocks::kLonger && tried != Tried::kUnfit && setting.block > 1)
    add(setting.block - 1, Blocks::kShorter);
  // A longer block may let a quicker cut fit, unless all cuts fit with this one, or this one's
  // bound already exceeds the best: a longer block's bound is no lower. Not with chunks, which have
  // no bound on the cuts that fit.
  if (last_.blocks != Blocks::kShorter && (tried == Tried::kFits || tried == Tried::kUnfit) &&
      last_.prospect.schedule == Schedule::kOneFOneB &&
      setting.block < job_.model.language_model.layers)
    add(setting.block + 1, Blocks::kLonger);
}

}  // namespace evenkeel::planner
