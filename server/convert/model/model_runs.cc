#include "server/convert/model/model_runs.h"

#include <algorithm>

#include "planner/model/layer_runs.h"

namespace evenkeel::server {
namespace {

const char* NameOf(planner::LayerKind kind) {
  switch (kind) {
    case planner::LayerKind::kEncoder:
      return "encoder";
    case planner::LayerKind::kMoe:
      return "MoE";
    default:
      return "dense";
  }
}

}  // namespace

ModelRuns::ModelRuns(const planner::ModelSpec& model) {
  const auto add = [this](planner::LayerKind kind, int64_t count) {
    if (count == 0) return;
    if (!all_.empty() && all_.back().kind == kind) {
      all_.back().count += count;
    } else {
      all_.push_back({kind, count});
    }
  };
  for (const planner::EncoderTower& tower : model.towers)
    add(planner::LayerKind::kEncoder, tower.encoder.layers);
  for (const planner::LayerRun& run : planner::RunsOf(model.language_model))
    add(planner::KindOf(run.layer), run.count);
  left_ = all_;
}

std::vector<ModelRuns::Run> ModelRuns::Take(int64_t count, std::optional<planner::LayerKind> kind) {
  std::vector<Run> taken;
  while (count > 0 && !left_.empty() && (!kind || left_.front().kind == *kind)) {
    const int64_t part = std::min(count, left_.front().count);
    taken.push_back({left_.front().kind, part});
    count -= part;
    left_.front().count -= part;
    if (left_.front().count == 0) left_.erase(left_.begin());
  }
  return taken;
}

int64_t ModelRuns::left() const {
  int64_t layers = 0;
  for (const Run& run : left_) layers += run.count;
  return layers;
}

std::string ModelRuns::TextOf(const std::vector<Run>& runs) {
  std::string text;
  for (const Run& run : runs) {
    text += (text.empty() ? "" : ", then ") + std::to_string(run.count) + " " + NameOf(run.kind);
  }
  return text.empty() ? "none" : text + " layers";
}

std::string ModelRuns::LeftText() const { return TextOf(left_); }
std::string ModelRuns::Text() const { return TextOf(all_); }

}  // namespace evenkeel::server
