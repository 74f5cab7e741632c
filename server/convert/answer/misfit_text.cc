#include "server/convert/answer/misfit_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan.h"

namespace evenkeel::server {
namespace {

// Returns a size with one decimal, rounded to nearest, in GiB or, below 1 GiB, in MiB. It uses
// integers, so that the text does not depend on locale or platform.
std::string SizeText(int64_t bytes) {
  const int64_t size = bytes < 0 ? -bytes : bytes;
  const bool small = size < int64_t{1} << 30;
  const int64_t unit = int64_t{1} << (small ? 20 : 30);
  const int64_t tenths = size / unit * 10 + (size % unit * 10 + unit / 2) / unit;
  return (bytes < 0 ? "-" : "") + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         (small ? " MiB" : " GiB");
}

struct LayerCount {
  planner::LayerKind kind;
  int64_t count = 0, recomputed = 0;
};

// Adds neighbours of a kind up: where layers alternate, such as those with a window, each is a
// group.
std::vector<LayerCount> CountsOf(const std::vector<planner::LayerGroup>& groups) {
  std::vector<LayerCount> counts;
  for (const planner::LayerGroup& group : groups) {
    if (counts.empty() || counts.back().kind != group.kind) counts.push_back({.kind = group.kind});
    counts.back().count += group.count;
    counts.back().recomputed += group.recomputed_count();
  }
  return counts;
}

std::string TextOf(const LayerCount& of_kind) {
  const auto layers = [&](const char* kind, const char* more = "") {
    std::string text = std::to_string(of_kind.count) + " " + kind +
                       (of_kind.count == 1 ? " layer" : " layers") + more;
    if (of_kind.recomputed > 0) text += " (" + std::to_string(of_kind.recomputed) + " recomputed)";
    return text;
  };
  switch (of_kind.kind) {
    case planner::LayerKind::kPatchEmbedding:
      return "patch embedding";
    case planner::LayerKind::kEncoder:
      return layers("encoder");
    case planner::LayerKind::kProjector:
      return "projector";
    case planner::LayerKind::kTokenEmbedding:
      return "token embedding";
    case planner::LayerKind::kDense:
      return layers("language");
    case planner::LayerKind::kMoe:
      return layers("language", " with experts");
    case planner::LayerKind::kHead:
      return "output head";
  }
  return "layers";
}

// Names the degrees. Those that are rarely above 1 are named only if they are.
std::string DegreesText(const planner::Parallelism& degrees) {
  const auto above_one = [](const char* text, int64_t degree) {
    return degree > 1 ? text + std::to_string(degree) : std::string();
  };
  return "TP " + std::to_string(degrees.tensor) + above_one(" x CP ", degrees.context) + " x PP " +
         std::to_string(degrees.pipeline) + " x DP " + std::to_string(degrees.data) +
         above_one(", EP ", degrees.expert) +
         above_one(", virtual stages ", degrees.virtual_stages) +
         above_one(", encoder data ", degrees.encoder_data);
}

}  // namespace

std::string ShortageText(const planner::Misfit& misfit) {
  if (misfit.micro_batches > 0)
    return "Each of " + std::to_string(misfit.parallelism.data) + " data-parallel ranks has " +
           std::to_string(misfit.micro_batches) +
           " micro-batches in a step, where training.fused_step allows one.";
  std::string text =
      "Stage " + std::to_string(misfit.stage) + " of " + DegreesText(misfit.parallelism);
  if (misfit.host_short_bytes > 0) {
    text += " fits its GPUs, but its nodes lack " + SizeText(misfit.host_short_bytes) +
            " of host memory";
  } else {
    text += " needs " + SizeText(misfit.memory.total()) + " but has only " +
            SizeText(misfit.capacity_bytes) + ": it lacks " + SizeText(misfit.short_bytes);
  }
  std::string layers;
  for (const LayerCount& of_kind : CountsOf(misfit.layers))
    layers += (layers.empty() ? "" : ", ") + TextOf(of_kind);
  if (!layers.empty()) text += " (" + layers + ")";
  return text + ".";
}

std::string MisfitText(const planner::Misfit& misfit) {
  std::string text = ShortageText(misfit) + " ";
  if (!misfit.proven)
    text += "Not all cuts with several chunks per stage were tried: another may fit. ";
  if (misfit.remedies.empty()) return text + "None of the changes tried makes it fit.";
  return text + "Nearest change: " + misfit.remedies.front().text + ".";
}

}  // namespace evenkeel::server
