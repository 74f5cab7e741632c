#include "client/cli/render/pack.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/group_tables.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

constexpr int kListedSamples = 8;
constexpr int kGaugeWidth = 30;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string Verdict(const Style& style, const v1::PackDatasetSummary& summary) {
  const v1::BatchRule& rule = summary.rule();
  const int64_t bound = rule.pack_count_lower_bound();
  if (bound == 0) return "";
  const std::string why = " (proven by " + summary.lower_bound_method() + ")";
  if (rule.pack_count() <= bound) {
    return Paint(style, Tone::kGood, "No packing under these caps has fewer packs") + why + ".";
  }
  return fmt::format("At least {} {} needed{}: this is {} above.", Counted(bound, "pack"),
                     bound == 1 ? "is" : "are", why, Percent(BoundGap(rule)));
}

std::string Oversize(const v1::PackDatasetSummary& summary, const PackOrigin& origin) {
  const int64_t count = summary.rule().oversize_sample_count();
  const bool rejected = summary.rejected_sample_count() > 0;
  std::string text = fmt::format("{} and {}: ",
                                 count == 1 ? "1 sample exceeds a cap on its own"
                                            : Integer(count) + " samples exceed a cap on their own",
                                 rejected       ? (count == 1 ? "is in no pack" : "are in no pack")
                                 : (count == 1) ? "has a pack to itself"
                                                : "have packs to themselves");
  const int listed = std::min(kListedSamples, summary.oversize_sample_index_size());
  const auto first = summary.oversize_sample_index().begin();
  if (listed > 0) text += "index " + absl::StrJoin(first, first + listed, ", ");
  if (count > listed) {
    text += origin.oversize_listed ? ", ... (all of them in oversize_index.npy)" : ", ...";
  }
  return text;
}

Pairs PackPairs(const Style& style, const v1::PackDatasetSummary& summary,
                const v1::PackDatasetStart& start) {
  const v1::BatchRule& rule = summary.rule();
  const bool units = rule.unit_cap() > 0;
  const auto both = [&](const std::string& unit_text, const std::string& token_text) {
    return units ? unit_text + ", " + token_text : token_text;
  };
  Pairs pairs;
  const bool grouped = summary.groups_size() > 0;
  if (!grouped)
    pairs.emplace_back(
        "pack cap",
        "at most " +
            both(Integer(rule.unit_cap()) + " units", Integer(rule.token_cap()) + " tokens") +
            (rule.caps_derived() ? " (derived from the data)" : " (as given)") +
            (start.apart_sample_count_size() > 1
                 ? fmt::format("; {} files apart", start.apart_sample_count_size())
                 : ""));
  if (rule.unit_scales_size() > 0) pairs.emplace_back("unit weights", UnitScalesText(rule));
  if (!rule.caps_reason().empty()) {
    pairs.emplace_back("because", Plain(style, WithThousands(rule.caps_reason())));
  }
  std::string packer = PackerName(rule.packer());
  if (rule.packer() == v1::PACKER_ISF) {
    packer += ", keeps packs with " +
              both(fmt::format("at least {} units or", Integer(rule.keep_units())), "") +
              fmt::format(" at least {} tokens, {}", Integer(rule.keep_tokens()),
                          Counted(rule.iterations(), "round"));
  }
  pairs.emplace_back("packer", packer + fmt::format("; seed {}", rule.seed()));
  pairs.emplace_back("a mean pack", CountedMean(rule.samples_per_pack(), "sample") + ", " +
                                        both(Significant(rule.mean_units()) + " units",
                                             Significant(rule.mean_tokens()) + " tokens"));
  const auto fill = [&](double share) {
    return Gauge(style, share, kGaugeWidth) + " " + Percent(share);
  };
  if (units) pairs.emplace_back("units filled", fill(summary.unit_fill()));
  pairs.emplace_back("tokens filled", fill(summary.token_fill()));
  return pairs;
}

// Compares the order of the steps with that of packs which are dealt at random.
std::string RandomnessText(const v1::PackDatasetSummary& summary) {
  return fmt::format(
      "mean lengths of steps vary {} times as much as in random order (1: alike); tokens per step "
      "and their number in the epoch correlate by {} (0: no trend)",
      Significant(summary.step_spread()), Decimal(summary.step_trend(), 3));
}

Pairs StepPairs(const v1::PackDatasetSummary& summary, const v1::PackDatasetStart& start) {
  const v1::BatchRule& rule = summary.rule();
  Pairs pairs;
  std::string shape = Counted(summary.step_count(), "step");
  if (summary.groups_size() == 0) {
    shape += fmt::format(" of {} x {}", Counted(start.data_parallel(), "rank"),
                         Counted(start.packs_per_rank(), "pack"));
  } else {
    shape += ", each of one packing group";
  }
  if (summary.curriculum_step_count() > 0) {
    shape += fmt::format("; the first {} of the shortest alone (curriculum)",
                         Integer(summary.curriculum_step_count()));
  }
  if (start.sequence_parallel_group() > 1) {
    shape += fmt::format(", alike in groups of {}", start.sequence_parallel_group());
  }
  if (summary.holed_step_count() > 0) {
    shape += "; the last is holed: ranks without a pack run a zero-weight dummy";
  }
  pairs.emplace_back("steps", shape);
  const int64_t window = rule.order_window();
  pairs.emplace_back(
      "order", fmt::format("epoch {}, {}", start.epoch(),
                           window <= 1 ? "fully random"
                           : window >= summary.step_count()
                               ? "packs exchanged over the whole epoch, steps shuffled"
                               : fmt::format("packs exchanged within {} steps, steps shuffled",
                                             Integer(window))));
  pairs.emplace_back("randomness", RandomnessText(summary));
  return pairs;
}

// Returns whether ranks wait because packs that are level in tokens are not level in squared
// lengths.
bool MayLevelByTime(const v1::PackDatasetSummary& summary) {
  constexpr double kIdleToMention = .01;
  const v1::BatchRule& rule = summary.rule();
  return rule.level() != v1::PACK_LEVEL_TIME && summary.groups_size() == 0 &&
         rule.pack_times().language_seconds_per_squared_token() > 0 &&
         rule.idle_ratio() > kIdleToMention;
}

std::string LevelText(const Style& style, const v1::PackDatasetSummary& summary) {
  return Paragraph(
      style, fmt::format("Level by predicted time. By tokens, {} would be lost. No order of these "
                         "packs is predicted to end an epoch more than {} sooner.",
                         Percent(summary.idle_ratio_by_tokens()),
                         Percent(summary.rule().order_gap_ratio())));
}

std::string BalanceTable(const Style& style, const v1::PackDatasetSummary& summary, bool times) {
  const v1::BatchRule& rule = summary.rule();
  if (summary.step_count() > 0 && summary.step_count() == summary.holed_step_count())
    return Paragraph(style, "No step gives every rank a pack, so there is no balance to compare.");
  std::vector<Table::Column> columns = {{"", Align::kLeft}, {"DistRatio"}};
  if (times) columns.push_back({"of its time"});
  Table table(columns);
  const auto add = [&](const std::string& name, double sums, const std::string& time) {
    std::vector<std::string> cells = {name, fmt::format("{:.5f}", sums)};
    if (times) cells.push_back(time);
    table.Add(cells);
  };
  const auto ratio = [](double value) { return fmt::format("{:.5f}", value); };
  if (rule.unit_cap() > 0) {
    add("vision (units)", rule.dist_ratio_units(), ratio(summary.dist_ratio_vision_time()));
  }
  add("language (tokens)", rule.dist_ratio_tokens(), ratio(summary.dist_ratio_language_time()));
  add("attention (tokens squared)", rule.dist_ratio_attention(), "-");
  return table.Render(style) +
         Paragraph(style, fmt::format("{} of a step is lost waiting for the slowest rank; padding "
                                      "{}.",
                                      Percent(rule.idle_ratio()), Percent(rule.pad_ratio()))) +
         (rule.level() == v1::PACK_LEVEL_TIME ? LevelText(style, summary) : "") +
         (times && MayLevelByTime(summary)
              ? Paragraph(style,
                          "`--level time --window auto` packs and deals by predicted time; "
                          "--compare shows what it would come to.")
              : "");
}

}  // namespace

std::string UnitScalesText(const v1::BatchRule& rule) {
  std::vector<std::string> counted;
  for (int e = 0; e < rule.unit_scales_size(); ++e)
    counted.push_back(fmt::format("encoder {}: {}", e + 1, Integer(rule.unit_scales(e))));
  return absl::StrJoin(counted, ", ") + " (relative work)";
}

double BoundGap(const v1::BatchRule& rule) {
  if (rule.pack_count_lower_bound() <= 0) return 0;
  return static_cast<double>(rule.pack_count()) /
             static_cast<double>(rule.pack_count_lower_bound()) -
         1;
}

std::string RenderPack(const Style& style, const v1::PackDatasetSummary& summary,
                       const v1::PackDatasetStart& start, const PackOrigin& origin) {
  const v1::BatchRule& rule = summary.rule();
  std::string text = Paint(style, Tone::kBold,
                           fmt::format("{} in {}", Counted(summary.sample_count(), "sample"),
                                       Counted(rule.pack_count(), "pack"))) +
                     "\n";
  const std::string verdict = Verdict(style, summary);
  if (!verdict.empty()) text += Paragraph(style, verdict, 0);
  if (rule.oversize_sample_count() > 0) {
    text += Paragraph(
        style, Paint(style, Tone::kWarn, "note") + ": " + Oversize(summary, origin) + ".", 0);
  }
  for (const std::string& note : origin.notes) {
    text +=
        Paragraph(style, Paint(style, Tone::kWarn, "note") + ": " + Plain(style, note) + ".", 0);
  }
  text += Section(style, "Packs", "by " + origin.packed_by) +
          NameValues(style, PackPairs(style, summary, start));
  if (summary.groups_size() > 0)
    text += Section(style, "Packing groups") + Table(PackedGroups(summary)).Render(style) +
            Paragraph(style, PackedGroupsText(summary));
  text += Section(style, "Steps") + NameValues(style, StepPairs(summary, start));
  text += Section(style, "Balance over ranks") +
          BalanceTable(style, summary, start.rule().has_pack_times());
  if (!origin.written.empty()) {
    text += Section(style, "Written");
    for (const std::string& what : origin.written) text += Paragraph(style, Plain(style, what));
  }
  return text;
}

}  // namespace evenkeel::cli
