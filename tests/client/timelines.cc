#include "tests/client/timelines.h"

#include <google/protobuf/text_format.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "planner/base/random.h"
#include "server/convert/answer/timeline_to_proto.h"

namespace evenkeel::cli {
namespace {

int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

}  // namespace

v1::Plan GoldenPlan() {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/tests/client/render/golden/plan.textproto");
  std::stringstream text;
  text << file.rdbuf();
  v1::Plan plan;
  google::protobuf::TextFormat::ParseFromString(text.str(), &plan);
  return plan;
}

planner::PipelineSpec PipelineOf(const v1::Plan& plan, planner::Schedule schedule, int64_t chunks,
                                 int64_t micro_batches) {
  planner::PipelineSpec spec;
  spec.shape = {schedule, plan.stages_size(), chunks, micro_batches};
  for (const v1::Stage& stage : plan.stages()) {
    for (int64_t c = 0; c < chunks; ++c) {
      spec.forward_ns.push_back(Nanoseconds(stage.forward_seconds()) / chunks);
      spec.recompute_ns.push_back(Nanoseconds(stage.recompute_seconds()) / chunks);
      spec.weight_gradient_ns.push_back(Nanoseconds(stage.backward_seconds()) / chunks / 2);
      spec.backward_ns.push_back(Nanoseconds(stage.backward_seconds() + stage.recompute_seconds()) /
                                 chunks);
      spec.send_ns.push_back(2'100'000);
      spec.gather_ns.push_back(60'000'000 / chunks);
      spec.sync_ns.push_back(150'000'000 / chunks);
    }
    spec.optimizer_ns.push_back(31'000'000);
  }
  spec.sync_overlaps = spec.gather_overlaps = true;
  spec.buckets.assign(spec.sync_ns.size(), 8);
  return spec;
}

v1::Timeline TimelineOf(const v1::Plan& plan, const planner::PipelineSpec& spec, int ranks) {
  const size_t units = spec.forward_ns.size();
  const size_t chunks = static_cast<size_t>(spec.shape.chunks);
  const size_t m = static_cast<size_t>(spec.shape.micro_batches);
  std::vector<planner::MemoryPart> parts(3);
  parts[0].name = "weights and optimizer";
  parts[1].name = "activations";
  parts[2].name = "workspace";
  for (size_t i = 0; i < units; ++i) {
    const v1::Stage& stage = plan.stages(static_cast<int>(i / chunks));
    const v1::MemoryParts& memory = stage.memory();
    if (i % chunks == 0) {
      parts[0].static_bytes.push_back(memory.total_bytes() - memory.activations_bytes() -
                                      memory.workspace_bytes());
    }
    parts[1].kept_bytes.push_back(memory.activations_bytes() / stage.in_flight() /
                                  static_cast<int64_t>(chunks));
    parts[1].weight_gradient_bytes.push_back(parts[1].kept_bytes.back() / 2);
    parts[2].backward_workspace_bytes.push_back(memory.workspace_bytes());
  }
  std::vector<planner::PipelineSpec> specs(static_cast<size_t>(ranks), spec);
  planner::Random random(3);
  for (planner::PipelineSpec& own : specs) {
    if (ranks == 1) break;
    own.forward_ns.clear(), own.backward_ns.clear(), own.recompute_ns.clear();
    std::vector<int64_t> percent(m);
    for (int64_t& p : percent) p = 80 + static_cast<int64_t>(random.Below(41));
    for (size_t i = 0; i < units; ++i) {
      for (size_t k = 0; k < m; ++k) {
        own.forward_ns.push_back(spec.forward_ns[i] * percent[k] / 100);
        own.backward_ns.push_back(spec.backward_ns[i] * percent[k] / 100);
        own.recompute_ns.push_back(spec.recompute_ns[i] * percent[k] / 100);
      }
    }
  }
  v1::Timeline timeline;
  server::Fill(planner::MakeTimeline(specs, parts), &timeline);
  return timeline;
}

}  // namespace evenkeel::cli
