#include "client/cli/from/advise/render_from.h"

#include <fmt/format.h>

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "client/cli/base/proto_json.h"
#include "client/cli/base/table.h"
#include "client/cli/from/advise/evaluate_run.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/named_files.h"
#include "client/cli/render/evaluation.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

double LessTime(double now, double then) { return now > 0 ? 1 - then / now : 0; }

std::string IntervalText(const v1::Predictions& p) {
  const double seconds = p.step().total_seconds();
  std::string text = Duration(seconds);
  if (p.step_interval().high_ratio() > 0)
    text += fmt::format(" ({} to {})", Duration(seconds * p.step_interval().low_ratio()),
                        Duration(seconds * p.step_interval().high_ratio()));
  return text;
}

std::string NotUnderstoodText(const UserConfig& config) {
  const size_t unknown = config.unknown.size();
  if (unknown == 0) return "";
  return fmt::format(" {} setting{} not understood.", unknown, unknown == 1 ? " was" : "s were");
}

std::string VerdictOfRun(const Style& style, const FromAnswer& answer) {
  const v1::Plan& yours = answer.response.evaluated();
  if (yours.misfit().host_short_bytes() > 0)
    return Paint(style, Tone::kBad,
                 fmt::format("It does not fit: nodes lack {} of host memory.",
                             Bytes(yours.misfit().host_short_bytes())));
  if (yours.has_misfit())
    return Paint(style, Tone::kBad,
                 fmt::format("It does not fit: stage {} lacks {} of each GPU.{}",
                             yours.misfit().stage_index(), Bytes(yours.misfit().short_bytes()),
                             NotUnderstoodText(answer.config)));
  int64_t least = yours.stages_size() > 0 ? yours.stages(0).free_bytes() : 0;
  for (const v1::Stage& stage : yours.stages()) least = std::min(least, stage.free_bytes());
  return Paint(style,
               yours.memory_fit() == v1::MEMORY_FIT_WITHIN_MARGIN ? Tone::kWarn : Tone::kGood,
               fmt::format("It fits, with {} free on the fullest stage, and a step takes {}.{}",
                           Bytes(least), IntervalText(yours.predictions()),
                           NotUnderstoodText(answer.config)));
}

// "What was read": arguments that set the same field stand together.
std::string ReadSection(const Style& style, const FromAnswer& answer) {
  constexpr int kLongestValue = 60;  // longer lists are shortened
  const UserConfig& config = answer.config;
  // Only the line, where all are from one file.
  const auto file = [](const Setting& setting) {
    return setting.where.substr(0, setting.where.find_last_of(':'));
  };
  const bool one = std::all_of(config.used.begin(), config.used.end(), [&](const Setting& setting) {
    return file(setting) == file(config.used.front());
  });
  Table table({{one ? "line" : "place", Align::kLeft, true, 12, true},
               {"argument", Align::kLeft, true, 24, true},
               {"value", Align::kLeft, true, 12, true},
               {"sets", Align::kLeft}});
  for (size_t i = 0; i < config.used.size(); ++i) {
    const Setting& setting = config.used[i];
    std::string line = setting.where;
    if (const size_t colon = line.find_last_of(':'); one && colon != std::string::npos)
      line = line.substr(colon + 1);
    const std::string empty = absl::StartsWith(setting.key, "-") ? "on" : "[]";
    const std::string value = setting.values.empty() ? empty : absl::StrJoin(setting.values, " ");
    table.Add({Plain(style, line), Plain(style, setting.key),
               Shorten(style, Plain(style, value), kLongestValue), config.meanings[i]});
  }
  std::string text =
      Section(style, "What was read",
              fmt::format("{} settings of {}", config.used.size(), TrainerName(config))) +
      table.Render(style);
  if (config.irrelevant == 0) return text;
  return text + Paragraph(style, fmt::format("{} more {} neither memory nor time (logs, paths, "
                                             "learning rate and the like).",
                                             config.irrelevant,
                                             config.irrelevant == 1 ? "changes" : "change"));
}

// Returns what the reading of the configuration assumed, and the network if no flag gives it.
std::vector<std::string> AssumedOf(const FromAnswer& answer) {
  std::vector<std::string> assumed = answer.run.assumed;
  for (const v1::FigureBasis& figure : answer.response.evaluated().provenance().figures())
    if (figure.figure() == "cluster.inter_node_bandwidth" && figure.basis() == v1::BASIS_ASSUMED)
      assumed.push_back("network between nodes: " + figure.detail() + " (--inter-node-gbps)");
  return assumed;
}

std::string DoubtSection(const Style& style, const FromAnswer& answer) {
  const UserConfig& config = answer.config;
  std::string text;
  if (!config.unknown.empty()) {
    text += Section(style, "Not understood",
                    "these may matter; the prediction takes no account of them");
    for (const Setting& setting : config.unknown)
      text += Paragraph(style, Plain(style, Describe(setting)));
  }
  if (!config.not_predicted.empty()) {
    text += Section(style, "Understood, but not predicted");
    for (const auto& [setting, what] : config.not_predicted)
      text += Paragraph(style, Plain(style, Describe(setting) + ": " + what));
  }
  const std::vector<std::string> assumed = AssumedOf(answer);
  if (!assumed.empty() || !config.notes.empty()) {
    text += Section(style, "Assumed");
    for (const std::string& line : assumed) text += Paragraph(style, Plain(style, line));
    for (const std::string& line : config.notes) text += Paragraph(style, Plain(style, line));
  }
  return text;
}

std::string DoesSection(const Style& style, const FromAnswer& answer) {
  const v1::Plan& yours = answer.response.evaluated();
  const v1::Predictions& p = yours.predictions();
  std::vector<std::pair<std::string, std::string>> rows = {
      {"split", ParallelismText(yours.parallelism()) + ", " + ScheduleText(yours)},
      {"batch",
       fmt::format("{} samples: {} micro-{} on {}", Integer(std::llround(p.samples_per_step())),
                   p.micro_batches(), p.micro_batches() == 1 ? "batch" : "batches",
                   yours.parallelism().data() == 1 ? "one data-parallel rank"
                                                   : fmt::format("each of {} data-parallel ranks",
                                                                 yours.parallelism().data()))},
      {"step", IntervalText(p)},
      {"tokens/s",
       Integer(static_cast<int64_t>(p.llm_tokens_per_second())) + ", MFU " + Percent(p.mfu())}};
  if (yours.has_offload()) rows.emplace_back("offload", OffloadText(yours));
  if (answer.run.steps > 0) {
    const double all = static_cast<double>(answer.run.steps) * p.step().total_seconds();
    rows.emplace_back("all steps",
                      fmt::format("{}, {} steps", Duration(all), Integer(answer.run.steps)));
  } else if (p.gpu_days() > 0 && answer.run.knows_samples) {
    rows.emplace_back("all the data", Duration(p.epoch_seconds()) + ", " + GpuTime(p.gpu_days()));
  }
  std::string text =
      Section(style, "What it will do", "predicted; ranges are those of 80% of runs") +
      NameValues(style, rows);
  if (yours.has_misfit()) text += Paragraph(style, Plain(style, yours.misfit().text()));
  return text + RenderStepTime(style, yours) + RenderStages(style, yours) +
         RenderStageMemory(style, yours);
}

std::string ChangeSection(const Style& style, const FromAnswer& answer) {
  const bool fits = !answer.response.evaluated().has_misfit();
  const double now = SampleSeconds(answer.response.evaluated());
  std::string text = Section(
      style, "Change first",
      fmt::format("each change alone; {} were evaluated in the same way as the configuration",
                  answer.changes.tried));
  if (answer.changes.best.empty())
    return text + Paragraph(style, fits ? "No single change that was tried is quicker."
                                        : "No single change that was tried makes it fit.");
  int number = 0;
  for (const Change& change : answer.changes.best) {
    const double gain = LessTime(now, change.sample_seconds);
    std::string gains = fits ? Percent(gain) + " less time per sample"
                             : "fits, " +
                                   Duration(change.evaluated.predictions().step().total_seconds()) +
                                   " per step";
    text += Paragraph(style, fmt::format("{}. {}: {}", ++number, Plain(style, change.text),
                                         Paint(style, Tone::kGood, gains)));
    if (change.argument.empty()) continue;
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(change.argument, '\n')))
      text += Paragraph(style, Plain(style, line), 5);
  }
  return text;
}

std::string OursSection(const Style& style, const FromAnswer& answer) {
  const v1::EvaluatePlanResponse& response = answer.response;
  const v1::Plan& ours = response.best();
  if (ours.has_misfit())
    return Section(style, "Our own plan") +
           Paragraph(style, (answer.changes.best.empty()
                                 ? "Nothing that was tried fits on these GPUs: "
                                 : "No split fits on these GPUs without one of these changes: ") +
                                ours.misfit().text());
  const double now = SampleSeconds(response.evaluated());
  const double gain = LessTime(now, SampleSeconds(ours));
  std::string text = RenderComparison(style, response);
  if (!response.evaluated().has_misfit())
    text += Paragraph(
        style,
        gain > 0 ? fmt::format("Evenkeel's own plan takes {} less time per sample.", Percent(gain))
                 : "Evenkeel's own plan is not quicker.");
  return text;
}

}  // namespace

std::string RenderFrom(const Style& style, const FromAnswer& answer) {
  const v1::PlanSubject& subject = answer.response.evaluated().subject();
  std::string text =
      Paint(style, Tone::kBold,
            Plain(style, fmt::format("{}: {} on {} x {}", FileNameOf(answer.path), subject.model(),
                                     subject.gpu_count(), subject.gpu_type()))) +
      "\n" + Paragraph(style, VerdictOfRun(style, answer), 0);
  const Changes& changes = answer.changes;
  if (!changes.best.empty()) {
    const Change& first = changes.best.front();
    text += Paragraph(
        style,
        Plain(style, answer.response.evaluated().has_misfit()
                         ? "What makes it fit: " + first.text + "."
                         : fmt::format("Change first: {}, {} less time per sample.", first.text,
                                       Percent(LessTime(SampleSeconds(answer.response.evaluated()),
                                                        first.sample_seconds)))),
        0);
  }
  text += Paint(style, Tone::kDim, answer.computed_by) + "\n";
  return text + ReadSection(style, answer) + DoubtSection(style, answer) +
         DoesSection(style, answer) + ChangeSection(style, answer) + OursSection(style, answer);
}

std::string FromAnswerJson(const FromAnswer& answer) {
  Json json;
  json["framework"] = TrainerName(answer.config);
  const auto setting_json = [](const Setting& setting) {
    return Json{{"key", setting.key}, {"values", setting.values}, {"where", setting.where}};
  };
  json["read"] = Json::array();
  for (size_t i = 0; i < answer.config.used.size(); ++i) {
    Json row = setting_json(answer.config.used[i]);
    row["sets"] = answer.config.meanings[i];
    json["read"].push_back(std::move(row));
  }
  json["not_understood"] = Json::array();
  for (const Setting& setting : answer.config.unknown)
    json["not_understood"].push_back(setting_json(setting));
  json["not_predicted"] = Json::array();
  for (const auto& [setting, what] : answer.config.not_predicted) {
    Json row = setting_json(setting);
    row["what"] = what;
    json["not_predicted"].push_back(std::move(row));
  }
  json["irrelevant_count"] = answer.config.irrelevant;
  json["assumed"] = AssumedOf(answer);
  json["notes"] = answer.config.notes;
  json["request"] = Json::parse(ToJson(answer.request));
  json["changes_tried"] = answer.changes.tried;
  json["changes"] = Json::array();
  const double now = SampleSeconds(answer.response.evaluated());
  for (const Change& change : answer.changes.best)
    json["changes"].push_back({{"text", change.text},
                               {"argument", change.argument},
                               {"seconds_per_sample", change.sample_seconds},
                               {"less_time_ratio", LessTime(now, change.sample_seconds)},
                               {"evaluated", Json::parse(ToJson(change.evaluated))}});
  json["response"] = Json::parse(ToJson(answer.response));
  // Words of a script may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace evenkeel::cli
