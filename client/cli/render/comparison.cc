// Compares the plan with unbalanced training and with other splits.
#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

// Returns whether splits differ in their samples. Packs are whole, so another split may train on
// another number of samples per step.
bool SamplesDiffer(const v1::Plan& plan) {
  const std::string ours = Significant(plan.predictions().samples_per_step());
  return std::any_of(
      plan.alternatives().begin(), plan.alternatives().end(), [&](const auto& other) {
        return other.samples_per_step() > 0 && Significant(other.samples_per_step()) != ours;
      });
}

// Returns the split in one cell. Virtual stages are not a factor of the GPU count, but tell splits
// apart.
std::string SplitCell(const v1::Parallelism& degrees) {
  const std::string text = SplitText(degrees);
  if (degrees.virtual_stages() <= 1) return text;
  return fmt::format("{}, virtual {}", text, degrees.virtual_stages());
}

// Returns "+3.1%" or "-3.1%", or "-" if there is nothing to compare with.
std::string PercentChange(double value, double reference) {
  if (reference <= 0) return "-";
  const double change = value / reference - 1;
  return (change < 0 ? "-" : "+") + Percent(std::abs(change));
}

std::string ChangeText(v1::SizeChange change) {
  switch (change) {
    case v1::SIZE_CHANGE_NODE_LESS:
      return "fewer GPUs";
    case v1::SIZE_CHANGE_NODE_MORE:
      return "more GPUs";
    case v1::SIZE_CHANGE_SMALLER_GPU:
      return "smaller GPUs";
    case v1::SIZE_CHANGE_LARGER_GPU:
      return "larger GPUs";
    default:
      return "other GPUs";
  }
}

// Returns the rungs that differ from the one before them, and names the others.
std::vector<const v1::LadderRung*> ChangedRungs(const v1::Plan& plan,
                                                std::vector<std::string>* unchanged) {
  std::vector<const v1::LadderRung*> rungs;
  const auto shown = [](const v1::LadderRung& rung) {
    return absl::StrJoin(
        {Significant(rung.gpu_days()), Duration(rung.step_seconds()), Percent(rung.pad_ratio()),
         Percent(rung.dist_ratio_units()), Percent(rung.dist_ratio_tokens())},
        " ");
  };
  for (const v1::LadderRung& rung : plan.ladder()) {
    if (!rungs.empty() && shown(*rungs.back()) == shown(rung) &&
        rungs.back()->fits() == rung.fits())
      unchanged->emplace_back(absl::StripPrefix(rung.name(), "+ "));
    else
      rungs.push_back(&rung);
  }
  return rungs;
}

// Describes the baseline, and names the rungs that are left out.
std::string LadderText(const v1::Plan& plan, const std::vector<std::string>& unchanged) {
  std::vector<std::string> sentences;
  if (plan.ladder(0).name() == "baseline")
    sentences.emplace_back(
        "The baseline: random micro-batches, padded to their longest sample; stages of equal "
        "parameters; every layer recomputed.");
  if (!unchanged.empty()) {
    sentences.push_back(fmt::format("{} {} nothing here.", absl::StrJoin(unchanged, " and "),
                                    unchanged.size() == 1 ? "changes" : "change"));
    sentences.back().front() =
        absl::ascii_toupper(static_cast<unsigned char>(sentences.back().front()));
  }
  return absl::StrJoin(sentences, " ");
}

}  // namespace

std::string RenderLadder(const Style& style, const v1::Plan& plan) {
  if (plan.ladder_size() == 0) return "";
  std::vector<std::string> unchanged;
  const std::vector<const v1::LadderRung*> rungs = ChangedRungs(plan, &unchanged);
  const bool units = plan.batch_rule().unit_cap() > 0;
  std::vector<Table::Column> columns = {
      {"", Align::kLeft}, {"GPU-days"}, {"step"}, {"speed-up"}, {"padding"}};
  if (units) columns.push_back({"units"});
  columns.push_back({"tokens"});
  columns.push_back({"", Align::kLeft});
  Table table(columns);
  const int bar_width = std::max(8, style.width - 76);
  double most = 0;
  for (const v1::LadderRung& rung : plan.ladder()) most = std::max(most, rung.gpu_days());
  const double first = plan.ladder(0).step_seconds() > 0 ? plan.ladder(0).gpu_days() : 0;
  for (const v1::LadderRung* const shown : rungs) {
    const v1::LadderRung& rung = *shown;
    const bool speed = first > 0 && rung.gpu_days() > 0;
    std::vector<std::string> cells = {
        Plain(style, rung.name()), Significant(rung.gpu_days()), Duration(rung.step_seconds()),
        speed ? fmt::format("{:.2f}x", first / rung.gpu_days()) : "-", Percent(rung.pad_ratio())};
    if (units) cells.push_back(Percent(rung.dist_ratio_units()));
    cells.push_back(Percent(rung.dist_ratio_tokens()));
    cells.push_back(Bar(style, most > 0 ? rung.gpu_days() / most : 0, bar_width) +
                    (rung.fits() ? "" : " does not fit"));
    table.Add(cells);
  }
  const std::string remark = units ? "units, tokens: imbalance over ranks (DistRatio)"
                                   : "tokens: imbalance over ranks (DistRatio)";
  const std::string text = LadderText(plan, unchanged);
  return Section(style, "Before and after balancing", remark) +
         (text.empty() ? "" : Paragraph(style, Plain(style, text))) + table.Render(style);
}

std::string RenderAlternatives(const Style& style, const v1::Plan& plan) {
  if (plan.alternatives_size() == 0) return "";
  const bool samples = SamplesDiffer(plan);
  std::vector<Table::Column> columns = {{"split", Align::kLeft}, {"step"}};
  if (samples) columns.push_back({"samples"});
  columns.insert(columns.end(), {{"GPU-days"},
                                 {"change"},
                                 {"free GiB"},
                                 {"layers per stage", Align::kLeft, /*shrink=*/true, 8}});
  Table table(columns);
  const double ours = plan.predictions().gpu_days();
  for (const v1::Alternative& other : plan.alternatives()) {
    std::vector<std::string> cells = {SplitCell(other.parallelism()),
                                      Duration(other.step_seconds())};
    if (samples) cells.push_back(Significant(other.samples_per_step()));
    cells.push_back(Significant(other.gpu_days()));
    cells.push_back(PercentChange(other.gpu_days(), ours));
    cells.push_back(Gib(other.least_free_bytes()));
    cells.push_back(absl::StrJoin(other.stage_layers(), ","));
    table.Add(cells);
  }
  const std::string remark = fmt::format("tensor x pipeline x data{}; change in GPU-days",
                                         samples ? "; samples per step" : "");
  const auto near = std::count_if(plan.alternatives().begin(), plan.alternatives().end(),
                                  [](const auto& other) { return other.indistinguishable(); });
  std::string text = Section(style, "Alternatives", remark) + table.Render(style);
  if (near == 0) return text;
  return text +
         Paragraph(style,
                   fmt::format("{} within 10% of the plan, which is less than predictions can "
                               "tell apart: measure before you choose.",
                               near == 1 ? "The first is"
                               : near == plan.alternatives_size()
                                   ? "All are"
                                   : fmt::format("The first {} are", near)),
                   2);
}

namespace {

// Adds the cells of a short plan: split, step, GPU-days, their change from `gpu_days`, and free
// memory.
void AddOther(bool fits, const v1::Alternative& plan, double gpu_days,
              std::vector<std::string>* cells) {
  if (!fits) {
    cells->insert(cells->end(), {"no fit", "-", "-", "-", "-"});
    return;
  }
  cells->insert(
      cells->end(),
      {SplitText(plan.parallelism()), Duration(plan.step_seconds()), Significant(plan.gpu_days()),
       PercentChange(plan.gpu_days(), gpu_days), Gib(plan.least_free_bytes())});
}

}  // namespace

std::string RenderOtherSizes(const Style& style, const v1::Plan& plan) {
  if (plan.other_sizes_size() == 0) return "";
  Table table({{"", Align::kLeft},
               {"GPUs"},
               {"type", Align::kLeft, /*shrink=*/true, 10},
               {"split", Align::kLeft},
               {"step"},
               {"GPU-days"},
               {"change"},
               {"free GiB"}});
  const double ours = plan.predictions().gpu_days();
  for (const v1::OtherSize& size : plan.other_sizes()) {
    std::vector<std::string> cells = {ChangeText(size.change()), Integer(size.gpu_count()),
                                      Plain(style, size.gpu_type())};
    AddOther(size.fits(), size.plan(), ours, &cells);
    table.Add(cells);
  }
  return Section(style, "Other sizes", "the same packs and global batch; change in GPU-days") +
         table.Render(style);
}

std::string RenderDispatchers(const Style& style, const v1::Plan& plan) {
  if (plan.expert_dispatchers_size() < 2) return "";
  double ours = 0;
  for (const v1::DispatcherTime& time : plan.expert_dispatchers())
    if (time.planned()) ours = time.step_seconds();
  Table table({{"", Align::kLeft}, {"step"}, {"change"}});
  for (const v1::DispatcherTime& time : plan.expert_dispatchers()) {
    table.Add({DispatcherName(time.dispatcher()), Duration(time.step_seconds()),
               time.planned() ? "the plan" : PercentChange(time.step_seconds(), ours)});
  }
  return Section(style, "Dispatchers of experts", "the same plan with each that fits") +
         table.Render(style);
}

namespace {

// Lists short plans that differ from the plan in the property that their heading names.
template <typename Others, typename Name>
std::string OtherPlans(const Style& style, const v1::Plan& plan, const std::string& title,
                       const std::string& packs, const Others& others, Name name) {
  if (others.empty()) return "";
  Table table({{"", Align::kLeft},
               {"split", Align::kLeft},
               {"step"},
               {"GPU-days"},
               {"change"},
               {"free GiB"}});
  for (const auto& other : others) {
    std::vector<std::string> cells = {name(other)};
    AddOther(other.fits(), other.plan(), plan.predictions().gpu_days(), &cells);
    table.Add(cells);
  }
  return Section(style, title, "the same global batch, " + packs + "; change in GPU-days") +
         table.Render(style);
}

}  // namespace

std::string RenderOtherPrecisions(const Style& style, const v1::Plan& plan) {
  return OtherPlans(
      style, plan, "Other precisions", "with the same packs", plan.other_precisions(),
      [](const v1::OtherPrecision& other) { return PrecisionName(other.precision()); });
}

std::string RenderOtherShardings(const Style& style, const v1::Plan& plan) {
  return OtherPlans(style, plan, "Other shardings", "with packs of their own",
                    plan.other_shardings(), [](const v1::OtherSharding& other) {
                      return ZeroText(other.zero_stage(), other.zero_group());
                    });
}

}  // namespace evenkeel::cli
