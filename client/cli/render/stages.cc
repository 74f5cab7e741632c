// Shows the plan's stages: their content, time and fill.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/memory.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

std::string GroupText(const v1::LayerGroup& group) {
  std::string name = LayerKindName(group.kind());
  if (group.encoder_index() > 0) name += fmt::format("#{}", group.encoder_index() + 1);
  if (!IsTransformer(group.kind())) return name;
  const int last = group.first_layer() + group.layer_count() - 1;
  if (group.layer_count() == 1) return fmt::format("{} {} (1)", name, last);
  return fmt::format("{} {}-{} ({})", name, group.first_layer(), last, group.layer_count());
}

using Groups = google::protobuf::RepeatedPtrField<v1::LayerGroup>;

// Joins runs of one kind that follow each other: they are apart where layers differ in other ways,
// as in their attention.
Groups Joined(const Groups& groups) {
  Groups joined;
  for (const v1::LayerGroup& group : groups) {
    if (!joined.empty()) {
      v1::LayerGroup& last = *joined.rbegin();
      const bool follows = group.first_layer() == last.first_layer() + last.layer_count();
      if (IsTransformer(group.kind()) && last.kind() == group.kind() &&
          last.encoder_index() == group.encoder_index() && follows &&
          last.chunk() == group.chunk()) {
        last.set_layer_count(last.layer_count() + group.layer_count());
        last.set_recomputed_count(last.recomputed_count() + group.recomputed_count());
        continue;
      }
    }
    *joined.Add() = group;
  }
  return joined;
}

// Returns "12/22": recomputed layers of all transformer layers. Lists kinds separately if a stage
// has several.
std::string RecomputedText(const v1::Stage& stage) {
  std::vector<std::string> runs;
  bool any = false;
  int again = 0, all = 0;
  for (const v1::LayerGroup& group : Joined(stage.layers())) {
    if (!IsTransformer(group.kind())) continue;
    runs.push_back(fmt::format("{}/{}", group.recomputed_count(), group.layer_count()));
    any = any || group.recomputed_count() > 0;
    again += group.recomputed_count(), all += group.layer_count();
  }
  if (!any) return "none";
  return runs.size() > 4 ? fmt::format("{}/{}", again, all) : absl::StrJoin(runs, " + ");
}

const char* PartName(int part) {
  switch (part) {
    case v1::RECOMPUTE_PART_NORMS:
      return "norms";
    case v1::RECOMPUTE_PART_CORE_ATTENTION:
      return "core attention";
    case v1::RECOMPUTE_PART_ACTIVATION:
      return "activation";
    case v1::RECOMPUTE_PART_MLP:
      return "MLP";
    case v1::RECOMPUTE_PART_LATENT_PROJECTION:
      return "latent projection";
    case v1::RECOMPUTE_PART_ALTERNATE_PRODUCTS:
      return "every other product";
    default:
      return "whole layer";
  }
}

// Returns the parts that the recomputed layers recompute: "norms of 24 layers, norms and activation
// of 3".
std::string PartsText(const v1::Plan& plan) {
  std::map<std::string, int> layers;
  for (const v1::Stage& stage : plan.stages()) {
    for (const v1::LayerGroup& group : stage.layers()) {
      for (const v1::RecomputedLayers& recomputed : group.recomputed()) {
        const std::string parts =
            absl::StrJoin(recomputed.parts(), " and ",
                          [](std::string* out, int part) { out->append(PartName(part)); });
        layers[parts] += recomputed.layer_count();
      }
    }
  }
  return absl::StrJoin(layers, ", ", [](std::string* out, const auto& entry) {
    const auto& [parts, count] = entry;
    out->append(fmt::format("{} of {}", parts, Counted(count, "layer")));
  });
}

std::string Milliseconds(double seconds) { return Significant(seconds * 1e3); }

double StageSeconds(const v1::Stage& stage) {
  return stage.forward_seconds() + stage.backward_seconds() + stage.recompute_seconds();
}

}  // namespace

const char* LayerKindName(v1::LayerKind kind) {
  switch (kind) {
    case v1::LAYER_KIND_PATCH_EMBEDDING:
      return "patches";
    case v1::LAYER_KIND_ENCODER:
      return "encoder";
    case v1::LAYER_KIND_PROJECTOR:
      return "projector";
    case v1::LAYER_KIND_TOKEN_EMBEDDING:
      return "embedding";
    case v1::LAYER_KIND_DENSE:
      return "language";
    case v1::LAYER_KIND_MOE:
      return "experts";
    case v1::LAYER_KIND_HEAD:
      return "head";
    default:
      return "layers";
  }
}

bool IsTransformer(v1::LayerKind kind) {
  return kind == v1::LAYER_KIND_ENCODER || kind == v1::LAYER_KIND_DENSE ||
         kind == v1::LAYER_KIND_MOE;
}

int RecomputedLayers(const v1::Plan& plan) {
  int layers = 0;
  for (const v1::Stage& stage : plan.stages()) {
    for (const v1::LayerGroup& group : stage.layers()) layers += group.recomputed_count();
  }
  return layers;
}

std::string LayersText(const google::protobuf::RepeatedPtrField<v1::LayerGroup>& groups,
                       int width) {
  const Groups layers = Joined(groups);
  // If there are very many runs (virtual stages), only the first ones and the last are shown.
  constexpr int kShown = 7;
  std::vector<std::string> parts;
  for (int i = 0; i < layers.size(); ++i) {
    const int left_out = layers.size() - kShown;
    if (left_out > 1 && i == kShown - 1) parts.push_back(fmt::format("{} more runs", left_out));
    if (left_out <= 1 || i < kShown - 1 || i + 1 == layers.size())
      parts.push_back(GroupText(layers[i]));
  }
  std::string text, line;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    const int mark = i + 1 == parts.size() ? 0 : 2;  // the " +" of a broken line
    if (!line.empty() && DisplayWidth(line) + 3 + DisplayWidth(part) + mark > width) {
      text += line + " +\n";
      line.clear();
    }
    line += (line.empty() ? "" : " + ") + part;
  }
  return text + line;
}

std::string RenderStages(const Style& style, const v1::Plan& plan) {
  if (plan.stages_size() == 0) return "";
  // Narrow terminals leave out figures that other sections show again.
  const bool wide = style.width >= 100;
  std::vector<Table::Column> columns = {
      {"stage"}, {"layers", Align::kLeft}, {"recomputed", Align::kLeft}, {"forward"}, {"backward"}};
  if (wide) columns.push_back({"recompute"});
  columns.insert(columns.end(), {{"held"}, {"used GiB", Align::kLeft}, {"free"}});
  Table table(columns);
  for (const v1::Stage& stage : plan.stages()) {
    const double share = static_cast<double>(stage.memory().total_bytes()) /
                         static_cast<double>(std::max<int64_t>(1, stage.capacity_bytes()));
    std::vector<std::string> cells = {std::to_string(stage.index()),
                                      LayersText(stage.layers(), wide ? 22 : 20),
                                      RecomputedText(stage), Milliseconds(stage.forward_seconds()),
                                      Milliseconds(stage.backward_seconds())};
    if (wide) {
      const double again = stage.recompute_seconds();
      cells.push_back(again > 0 ? Milliseconds(again) : "-");
    }
    cells.push_back(std::to_string(stage.in_flight()));
    cells.push_back(PadLeft(Gib(stage.memory().total_bytes()), 5) +
                    (wide ? " " + Gauge(style, share, 8) : ""));
    cells.push_back(Gib(stage.free_bytes()));
    table.Add(cells);
  }
  const std::string remark =
      fmt::format("ms of one mean {}; {} held at once; memory of one GPU, of {} GiB",
                  plan.subject().micro_batch_samples() > 0 ? "micro-batch" : "pack",
                  PacksName(plan), Gib(plan.stages(0).capacity_bytes()));
  const std::string parts = PartsText(plan);
  return Section(style, "Stages", remark) + table.Render(style) +
         (parts.empty() ? "" : Paragraph(style, "Recomputed: " + parts + ".", 2));
}

std::string RenderStageTimes(const Style& style, const v1::Plan& plan) {
  if (plan.stages_size() < 2) return "";
  double slowest = 0, sum = 0;
  for (const v1::Stage& stage : plan.stages()) {
    slowest = std::max(slowest, StageSeconds(stage));
    sum += StageSeconds(stage);
  }
  if (slowest <= 0) return "";
  const std::vector<std::string> marks = style.unicode ? std::vector<std::string>{"█", "▓", "░"}
                                                       : std::vector<std::string>{"#", "=", "."};
  const int width = std::max(10, style.width - 30);
  std::string text;
  for (const v1::Stage& stage : plan.stages()) {
    const double ends[] = {stage.forward_seconds(),
                           stage.forward_seconds() + stage.backward_seconds(), StageSeconds(stage)};
    std::string bar;
    int drawn = 0;
    for (size_t part = 0; part < 3; ++part) {
      for (; drawn < static_cast<int>(ends[part] / slowest * width + 0.5); ++drawn) {
        bar += marks[part];
      }
    }
    text += fmt::format("  {}  {} {}  {}\n", PadLeft(std::to_string(stage.index()), 5),
                        PadRight(bar, width), PadLeft(Milliseconds(StageSeconds(stage)), 7),
                        PadLeft(Percent(StageSeconds(stage) / slowest), 6));
  }
  const double even = sum / plan.stages_size();
  const std::string remark =
      fmt::format("{} forward, {} backward, {} recompute, ms; the slowest is {} above the mean",
                  marks[0], marks[1], marks[2], Percent(slowest / even - 1));
  return Section(style, "Stage times", remark) + text;
}

std::string RenderStageMemory(const Style& style, const v1::Plan& plan) {
  if (plan.stages_size() == 0) return "";
  std::vector<MemoryRow> rows;
  for (const v1::Stage& stage : plan.stages()) {
    rows.push_back({std::to_string(stage.index()), stage.memory(), stage.capacity_bytes()});
  }
  return Section(style, "Memory by part", "GiB of one GPU at its peak") +
         MemoryTable(style, "stage", rows);
}

}  // namespace evenkeel::cli
