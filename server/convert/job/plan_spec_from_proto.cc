#include "server/convert/job/plan_spec_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "evenkeel/v1/plan.pb.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/job/parallelism_from_proto.h"
#include "server/convert/model/model_runs.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kLayerCounts = {1, 65536};
constexpr int64_t kMaxPieces = 1024;  // limit on stages x virtual stages
constexpr int kMaxGroupsPerStage = 1024;

// Returns the recompute of the layers of one group.
std::vector<planner::RecomputedLayers> ConvertRecomputed(const v1::LayerGroup& from,
                                                         const FieldPath& path,
                                                         ViolationSink& sink) {
  const FieldPath count = path.Child("recomputed_count");
  CheckInt(sink, count, from.recomputed_count(), {0, from.layer_count()});
  if (from.recomputed().empty()) {
    if (from.recomputed_count() <= 0) return {};
    return {{planner::kWholeLayer, from.recomputed_count()}};
  }
  std::vector<planner::RecomputedLayers> all;
  int64_t sum = 0;
  for (int i = 0; i < from.recomputed_size(); ++i) {
    const FieldPath entry = path.Child("recomputed", i);
    planner::RecomputedLayers to = {0, from.recomputed(i).layer_count()};
    CheckInt(sink, entry.Child("layer_count"), to.count, {0, from.layer_count()});
    if (from.recomputed(i).parts().empty())
      sink.Add(entry.Child("parts"), "required: the parts to recompute");
    for (int k = 0; k < from.recomputed(i).parts_size(); ++k) {
      const FieldPath part = entry.Child("parts", k);
      if (from.recomputed(i).parts(k) == v1::RECOMPUTE_PART_UNSPECIFIED)
        sink.Add(part, "required: a part, such as RECOMPUTE_PART_WHOLE_LAYER");
      to.parts |= FromProto(kRecomputeParts, from.recomputed(i).parts(k), planner::RecomputePart{},
                            part, sink);
    }
    if ((to.parts & planner::kAlternateProducts) != 0 && to.parts != planner::kAlternateProducts)
      sink.Add(entry.Child("parts"),
               "RECOMPUTE_PART_ALTERNATE_PRODUCTS must be the only part of its layers");
    sum += to.count;
    if (to.count > 0) all.push_back(to);
  }
  if (sum > from.layer_count()) {
    sink.Add(path.Child("recomputed"), "are " + std::to_string(sum) + " layers of a group of " +
                                           std::to_string(from.layer_count()));
  } else if (from.recomputed_count() != 0 && from.recomputed_count() != sum) {
    sink.Add(count, "must be the sum over recomputed (" + std::to_string(sum) +
                        ") or unset, but is " + std::to_string(from.recomputed_count()));
  }
  return all;
}

// Takes the entries for the first `layers` layers off *all and returns them.
std::vector<planner::RecomputedLayers> CutOff(int64_t layers,
                                              std::vector<planner::RecomputedLayers>* all) {
  std::vector<planner::RecomputedLayers> cut;
  while (layers > 0 && !all->empty()) {
    planner::RecomputedLayers& first = all->front();
    const int64_t part = std::min(layers, first.count);
    cut.push_back({first.parts, part});
    layers -= part;
    first.count -= part;
    if (first.count == 0) all->erase(all->begin());
  }
  return cut;
}

class Stages {
 public:
  Stages(const v1::Plan& from, const FieldPath& path, const planner::Job& job, ViolationSink& sink,
         PlanSpec* to)
      : from_(from), path_(path), sink_(sink), runs_(job.model), to_(*to) {}

  void Convert() {
    const planner::Parallelism& p = to_.spec.parallelism;
    if (p.pipeline < 1 || p.virtual_stages < 1) return;  // already reported
    const int64_t pieces = p.pipeline * p.virtual_stages;
    const FieldPath stages = path_.Child("stages");
    if (pieces > kMaxPieces) {
      sink_.Add(path_.Child("parallelism"), "pipeline x virtual_stages must be at most " +
                                                std::to_string(kMaxPieces) + ", but is " +
                                                std::to_string(pieces));
      return;
    }
    to_.spec.chunks.resize(static_cast<size_t>(pieces));
    to_.run_fields.resize(static_cast<size_t>(pieces));
    if (from_.stages().empty() && pieces == 1) {
      Lay(0, stages.Text(), runs_.Take(runs_.left(), std::nullopt), {});
      return;
    }
    if (from_.stages_size() != p.pipeline) {
      sink_.Add(stages, "must be as many as parallelism.pipeline (" + std::to_string(p.pipeline) +
                            "), but are " + std::to_string(from_.stages_size()));
      return;
    }
    if (!CheckChunks()) return;
    // Goes through the model from front to back: all first chunks, then all second ones.
    const int64_t before = sink_.count();
    for (int64_t chunk = 0; chunk < p.virtual_stages; ++chunk) {
      for (int s = 0; s < from_.stages_size(); ++s) ConvertChunk(chunk, s);
    }
    if (sink_.count() == before && runs_.left() > 0) {
      sink_.Add(stages, "must hold all transformer layers of the model (" + runs_.Text() +
                            "); left over: " + runs_.LeftText());
    }
  }

 private:
  bool CheckChunks() {
    const int64_t before = sink_.count();
    const int64_t chunks = to_.spec.parallelism.virtual_stages;
    for (int s = 0; s < from_.stages_size(); ++s) {
      const FieldPath stage = path_.Child("stages", s);
      if (from_.stages(s).layers_size() > kMaxGroupsPerStage) {
        sink_.Add(stage.Child("layers"), "must be at most " + std::to_string(kMaxGroupsPerStage) +
                                             " groups, but are " +
                                             std::to_string(from_.stages(s).layers_size()));
        continue;
      }
      for (int g = 0; g < from_.stages(s).layers_size(); ++g) {
        const FieldPath group = stage.Child("layers", g);
        CheckInt(sink_, group.Child("chunk"), from_.stages(s).layers(g).chunk(), {0, chunks - 1});
      }
    }
    return sink_.count() == before;
  }

  void ConvertChunk(int64_t chunk, int s) {
    const FieldPath stage = path_.Child("stages", s);
    const size_t piece = static_cast<size_t>(chunk * to_.spec.parallelism.pipeline + s);
    bool any = false;
    for (int g = 0; g < from_.stages(s).layers_size(); ++g) {
      const v1::LayerGroup& group = from_.stages(s).layers(g);
      if (group.chunk() != chunk) continue;
      any = ConvertGroup(group, stage.Child("layers", g), piece) || any;
    }
    if (any) return;
    sink_.Add(stage.Child("layers"),
              "must have at least one transformer layer" +
                  (to_.spec.parallelism.virtual_stages > 1 ? " in chunk " + std::to_string(chunk)
                                                           : std::string()));
  }

  // Returns false if the group has no transformer layers, which is not a fault.
  bool ConvertGroup(const v1::LayerGroup& group, const FieldPath& path, size_t piece) {
    std::optional<planner::LayerKind> kind;
    if (group.kind() != v1::LAYER_KIND_UNSPECIFIED) {
      const int64_t before = sink_.count();
      kind = FromProto(kLayerKinds, group.kind(), planner::LayerKind::kDense, path.Child("kind"),
                       sink_);
      if (sink_.count() != before) return true;
      if (!planner::IsTransformerLayer(*kind)) {
        to_.spec.chunks[piece].layers.push_back({.kind = *kind, .count = 1});
        to_.run_fields[piece].push_back(path.Text());
        return false;
      }
    }
    const int64_t before = sink_.count();
    CheckRequiredInt(sink_, path.Child("layer_count"), group.layer_count(), kLayerCounts);
    if (sink_.count() != before) return true;
    auto recomputed = ConvertRecomputed(group, path, sink_);
    const std::string left = runs_.LeftText();
    const auto taken = runs_.Take(group.layer_count(), kind);
    int64_t count = 0;
    for (const ModelRuns::Run& run : taken) count += run.count;
    if (count < group.layer_count() && !said_) {
      // Reported once, because all groups after this one are shifted.
      said_ = true;
      sink_.Add(path.Child("layer_count"),
                "the model does not continue with this many layers of this kind: it has " +
                    runs_.Text() + ", of which the next are " + left + ", but layer_count is " +
                    std::to_string(group.layer_count()));
    }
    Lay(piece, path.Text(), taken, std::move(recomputed));
    return true;
  }

  void Lay(size_t piece, const std::string& field, const std::vector<ModelRuns::Run>& runs,
           std::vector<planner::RecomputedLayers> recomputed) {
    for (const ModelRuns::Run& run : runs) {
      to_.spec.chunks[piece].layers.push_back(
          {.kind = run.kind, .count = run.count, .recomputed = CutOff(run.count, &recomputed)});
      to_.run_fields[piece].push_back(field);
    }
  }

  const v1::Plan& from_;
  const FieldPath& path_;
  ViolationSink& sink_;
  ModelRuns runs_;
  PlanSpec& to_;
  bool said_ = false;
};

// Reads "name[7]" at the start of `text` and removes it.
std::optional<size_t> TakeIndex(std::string_view name, std::string_view* text) {
  if (!text->starts_with(name) || text->size() <= name.size() || (*text)[name.size()] != '[')
    return std::nullopt;
  const size_t end = text->find(']');
  if (end == std::string_view::npos) return std::nullopt;
  size_t index = 0;
  for (size_t i = name.size() + 1; i < end; ++i)
    index = 10 * index + static_cast<size_t>((*text)[i] - '0');
  text->remove_prefix(end + 1);
  return index;
}

}  // namespace

PlanSpec PlanSpecFromProto(const v1::Plan& from, const FieldPath& path, const planner::Job& job,
                           ViolationSink& sink) {
  PlanSpec to;
  const FieldPath degrees = path.Child("parallelism");
  if (!from.has_parallelism()) {
    sink.Add(degrees, "required: degrees whose product is the job's GPU count");
    return to;
  }
  to.spec.parallelism = ParallelismFromProto(from.parallelism(), degrees, job, sink);
  to.spec.schedule =
      ScheduleFromProto(from.schedule(), to.spec.parallelism, path.Child("schedule"), sink);
  to.spec.planned_micro_batches = from.predictions().micro_batches();
  Stages(from, path, job, sink, &to).Convert();
  return to;
}

namespace {

// Checks that the plan agrees with the job about padded micro-batches. The caps of a plan with
// padded_batches are its largest micro-batch, so they are not refused.
void CheckPaddedRule(const v1::Plan& plan, const FieldPath& path, ViolationSink& sink,
                     const planner::Training& training) {
  const int64_t samples = plan.padded_batches().micro_batch_samples();
  const v1::BatchRule& rule = plan.batch_rule();
  if (plan.has_padded_batches()) {
    if (samples != training.micro_batch_samples)
      sink.Add(path.Child("padded_batches").Child("micro_batch_samples"),
               "must be the job's " + std::to_string(training.micro_batch_samples) + ", but is " +
                   std::to_string(samples));
  } else if (rule.unit_cap() != 0 || rule.token_cap() != 0 || rule.order_window() != 0 ||
             rule.packer() != v1::PACKER_UNSPECIFIED) {
    sink.Add(path.Child("batch_rule"), "must be unset: the job pads micro-batches of " +
                                           std::to_string(training.micro_batch_samples) +
                                           " samples instead of packing");
  }
}

}  // namespace

void OverlayBatchRule(const v1::Plan& plan, const FieldPath& plan_path, ViolationSink& sink,
                      planner::Job* job) {
  planner::Training& training = job->training;
  if (training.micro_batch_samples > 0) return CheckPaddedRule(plan, plan_path, sink, training);
  if (plan.has_padded_batches())
    sink.Add(plan_path.Child("padded_batches"),
             "must be unset: the job packs samples (training.micro_batch_samples is unset)");
  const v1::BatchRule& from = plan.batch_rule();
  const FieldPath path = plan_path.Child("batch_rule");
  training.unit_cap = CheckIntOr(sink, path.Child("unit_cap"), from.unit_cap(),
                                 {1, planner::kUnitCapAtMost}, training.unit_cap);
  if (job->model.towers.empty() && from.unit_cap() > 0)
    sink.Add(path.Child("unit_cap"), "must be unset: the model has no encoder");
  training.token_cap = CheckIntOr(sink, path.Child("token_cap"), from.token_cap(),
                                  {1, planner::kTokenCapAtMost}, training.token_cap);
  if (from.packer() != v1::PACKER_UNSPECIFIED)
    training.packer = PackerFromProto(from.packer(), path.Child("packer"), sink);
  training.order_window = CheckIntOr(sink, path.Child("order_window"), from.order_window(),
                                     kOrderWindows, training.order_window);
}

Violation ViolationOf(const PlanSpec& spec, const planner::SpecFault& fault,
                      const FieldPath& plan) {
  std::string_view rest = fault.field;
  const auto chunk = TakeIndex("chunks", &rest);
  if (!chunk) {
    const std::string field = fault.field == "chunks" ? "stages" : fault.field;
    return {plan.Text() + "." + field, fault.message};
  }
  const auto stages = static_cast<size_t>(spec.spec.parallelism.pipeline);
  const std::string stage = plan.Child("stages", static_cast<int64_t>(*chunk % stages)).Text();
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const auto run = TakeIndex("layers", &rest);
  if (!run || *chunk >= spec.run_fields.size() || *run >= spec.run_fields[*chunk].size())
    return {stage, fault.message};
  const std::string tail = rest == ".count" ? ".layer_count" : std::string(rest);
  return {spec.run_fields[*chunk][*run] + tail, fault.message};
}

}  // namespace evenkeel::server
