#include "client/cli/pack/pack_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "client/cli/base/text.h"
#include "client/cli/dataset/packed_dataset.h"

namespace evenkeel::cli {
namespace {

// Ranks without a pack are mentioned if they are this share of all ranks of all steps.
constexpr double kEmptyToMention = .01;

class PackViewer {
 public:
  PackViewer(const PackFlags& flags, const PlannedPacking& planned, const SampleLengths& samples,
             const v1::PackDatasetStart& start, const v1::PackDatasetSummary& summary)
      : flags_(flags), planned_(planned), samples_(samples), start_(start) {
    view_.summary = summary;
  }

  PackView View() && {
    if (!start_.groups().empty()) return std::move(view_);  // they have caps and ranks of their own
    NoteEmptyRanks();
    LeaveOutOversize();
    unit_cap_given_ = flags_.unit_cap && samples_.has_units();
    if (flags_.unit_cap && !unit_cap_given_)
      view_.notes.emplace_back("no sample has units, so --unit-cap has no effect");
    NameCaps();
    return std::move(view_);
  }

 private:
  v1::BatchRule* rule() { return view_.summary.mutable_rule(); }

  // Only the last step can lack packs.
  void NoteEmptyRanks() {
    const int64_t packs = rule()->pack_count(), steps = view_.summary.step_count();
    const int64_t ranks = start_.data_parallel();
    if (view_.summary.holed_step_count() == 0 || packs == 0) return;
    const int64_t last = packs - (steps - 1) * ranks * std::max(1, start_.packs_per_rank());
    const int64_t empty = ranks - std::clamp<int64_t>(last, 0, ranks);
    if (steps == 1) {
      view_.notes.push_back(
          fmt::format("{} packs for {} ranks: {} of the ranks have no pack, and run a zero-weight "
                      "dummy. Use --dp {} or fewer",
                      Integer(packs), Integer(ranks), Share(empty, ranks), packs));
    } else if (Ratio(empty, ranks * steps) >= kEmptyToMention) {
      view_.notes.push_back(fmt::format(
          "in the last of {} steps, {} of the ranks have no pack, and run a zero-weight dummy. "
          "\"Balance over ranks\" leaves this step out",
          Integer(steps), Share(empty, ranks)));
    }
  }

  static double Ratio(int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  }
  static std::string Share(int64_t part, int64_t whole) { return Percent(Ratio(part, whole)); }

  void LeaveOutOversize() {
    const int64_t oversize =
        rule()->oversize_sample_count() - view_.summary.rejected_sample_count();
    const int64_t others = rule()->pack_count() - oversize;
    if (oversize <= 0 || others <= 0) return;
    double units = 0, tokens = 0;
    for (const int64_t i : OversizeSamples(samples_, start_)) {
      units += samples_.units[static_cast<size_t>(i)];
      tokens += samples_.tokens[static_cast<size_t>(i)];
    }
    const auto packs = static_cast<double>(rule()->pack_count());
    const auto mean = [&](double of_all, double of_oversize) {
      return std::max(0.0, of_all * packs - of_oversize) / static_cast<double>(others);
    };
    rule()->set_mean_units(mean(rule()->mean_units(), units));
    rule()->set_mean_tokens(mean(rule()->mean_tokens(), tokens));
    rule()->set_samples_per_pack(mean(rule()->samples_per_pack(), static_cast<double>(oversize)));
    view_.notes.emplace_back(
        "the mean pack, and the share that packs fill, leave out packs of samples that exceed a "
        "cap");
  }

  void NameCaps() {
    const bool of_plan = planned_.rule.token_cap() > 0;
    const std::string plan = flags_.rule_file.empty() ? "the rule of " + flags_.plan_id
                                                      : "the rule in " + flags_.rule_file;
    const bool units = rule()->unit_cap() > 0;
    if (!unit_cap_given_ && !flags_.token_cap) {
      if (of_plan) SayCaps(plan + " has these caps");
      return;
    }
    if (!units || (unit_cap_given_ && flags_.token_cap)) return;
    const char* const given = unit_cap_given_ ? "--unit-cap" : "--token-cap";
    const char* const other = unit_cap_given_ ? "token" : "unit";
    if (of_plan) {
      SayCaps(fmt::format("{} as given; the {} cap of {}", given, other, plan));
    } else if (rule()->caps_derived()) {
      SayCaps(fmt::format("{} as given; the {} cap derived from the data: {}", given, other,
                          rule()->caps_reason()));
    }
  }

  void SayCaps(const std::string& reason) {
    rule()->set_caps_derived(false);
    rule()->set_caps_reason(reason);
  }

  const PackFlags& flags_;
  const PlannedPacking& planned_;
  const SampleLengths& samples_;
  const v1::PackDatasetStart& start_;
  bool unit_cap_given_ = false;
  PackView view_;
};

}  // namespace

PackView ViewOf(const PackFlags& flags, const PlannedPacking& planned, const SampleLengths& samples,
                const v1::PackDatasetStart& start, const v1::PackDatasetSummary& summary) {
  return PackViewer(flags, planned, samples, start, summary).View();
}

}  // namespace evenkeel::cli
