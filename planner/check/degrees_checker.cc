#include "planner/check/degrees_checker.h"

#include <cstdint>
#include <optional>

#include "planner/check/faults.h"
#include "planner/model/layer_runs.h"
#include "planner/space/network_tiers.h"
#include "planner/space/tensor_parallel.h"

namespace evenkeel::planner {
namespace {

class DegreesChecker {
 public:
  DegreesChecker(const Job& job, const Plan& plan) : job_(job), plan_(plan) {}

  std::vector<std::string> Run() {
    CheckRanks();
    if (faults_.empty()) {
      CheckSharing(plan_.parallelism);
      CheckSchedule(plan_.parallelism);
    }
    return faults_.Take();
  }

 private:
  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }

  void CheckRanks() {
    const Parallelism& p = plan_.parallelism;
    const Constraints& c = job_.constraints;
    Require(p.tensor >= 1 && p.context >= 1 && p.pipeline >= 1 && p.data >= 1 && p.expert >= 1 &&
                p.virtual_stages >= 1 && p.encoder_data >= 1,
            "a degree below 1");
    Require(p.tensor * p.context * p.pipeline * p.data == job_.cluster.gpu_count,
            "degrees do not multiply to the GPU count");
    const int64_t domain = DomainGpus(job_.cluster);
    Require(p.tensor <= domain, "tensor parallel wider than a node or scale-up domain");
    Require(domain == job_.cluster.gpus_per_node || domain % p.tensor == 0,
            "tensor parallel across scale-up domains");
    Require(TensorParallelAllowed(job_.model, p.tensor), "tensor parallel does not divide heads");
    Require(static_cast<int64_t>(plan_.stages.size()) == p.pipeline,
            "stage count differs from the pipeline degree");
    const auto within = [](int64_t degree, const DegreeRange& r) {
      return degree >= r.min && (r.max == 0 || degree <= r.max);
    };
    Require(within(p.tensor, c.tensor_parallel) && within(p.pipeline, c.pipeline_parallel) &&
                within(p.data, c.data_parallel) && within(p.context, c.context_parallel) &&
                within(p.expert, c.expert_parallel) && within(p.virtual_stages, c.virtual_stages) &&
                within(p.encoder_data, c.encoder_data),
            "a degree breaks its constraint");
  }

  void CheckContext(const LanguageLayer& layer, const Parallelism& p) {
    if (p.context == 1) return;
    const Execution& e = job_.training.execution;
    const LanguageModel& model = job_.model.language_model;
    const bool engine = job_.training.trainer->transformer_engine_context && e.fused_kernels;
    // `queries`: every rank gets whole heads. `heads`: also whole key and value heads, if none are
    // copied.
    const int64_t shares = p.tensor * p.context;
    const bool queries = layer.heads % shares == 0;
    const bool heads = queries && (!engine || model.mla || layer.kv_heads % shares == 0);
    const bool either = e.context == ContextKind::kUlyssesOrRing;
    Require(e.context == ContextKind::kUlysses ? heads : !either || queries, "context over heads");
    const bool exchanges = e.context != ContextKind::kAllGather && e.context != ContextKind::kRing;
    if (!engine || (heads && exchanges)) return;
    const bool windows = layer.attention == AttentionKind::kWindow;
    Require(!layer.sinks && !model.attention_sinks &&
                (!windows || e.context == ContextKind::kAllGather),
            "a ring with windows or sinks");
  }

  // Checks what ranks share: heads or keys and values, experts, weights.
  void CheckSharing(const Parallelism& p) {
    const LanguageModel& model = job_.model.language_model;
    const Execution& execution = job_.training.execution;
    const int64_t shares = p.tensor * p.context;
    for (const LayerRun& run : RunsOf(model)) {
      if (Attends(run.layer.mixer)) CheckContext(run.layer, p);
      if (Recurs(run.layer.mixer))
        Require(model.recurrent->value_heads % shares == 0,
                "tensor and context parallel do not divide the heads of a recurrent layer");
    }
    const int64_t ranks = p.tensor * p.context * p.data;  // ranks of one stage
    const int64_t split = p.expert * execution.expert_tensor;
    Require(p.expert == 1 || (model.moe && model.moe->experts % p.expert == 0 &&
                              ranks % split == 0 && p.tensor % execution.expert_tensor == 0),
            "expert parallel does not divide experts and ranks");
    const Trainer& trainer = *job_.training.trainer;
    Require(
        (job_.training.zero_stage != ZeroStage::kWeights && trainer.pipeline) || p.pipeline == 1,
        "a pipeline of sharded weights, or of a trainer that has none");
    Require(trainer.tensor_parallel || p.tensor == 1, "tensor parallel of a trainer that has none");
    Require(trainer.expert_parallel || p.expert == 1, "expert parallel of a trainer that has none");
    CheckEncoderSplit(p);
  }

  // Checks the ranks that share the images of a pack.
  void CheckEncoderSplit(const Parallelism& p) {
    const int64_t ranks = p.encoder_data;
    const EncoderSplit split = job_.training.trainer->encoder_split;
    if (job_.model.towers.empty() || split == EncoderSplit::kNone) {
      Require(ranks == 1, "images shared by a trainer that shares none, or of no encoder");
    } else if (split == EncoderSplit::kContext) {
      Require(ranks == p.context, "images not shared by a trainer whose context ranks share them");
    } else {
      Require(ranks == 1 || ranks == p.context || ranks == p.tensor * p.context,
              "images shared by neither the context ranks nor all");
    }
  }

  void CheckSchedule(const Parallelism& p) {
    const std::optional<Schedule>& asked = job_.constraints.schedule;
    Require(!asked || *asked == plan_.schedule ||
                (*asked == Schedule::kGPipe && p.pipeline == 1 &&
                 plan_.schedule == Schedule::kOneFOneB),
            "not the schedule asked for");
    Require((p.virtual_stages > 1) == (plan_.schedule == Schedule::kInterleaved),
            "virtual stages and interleaving go together");
    Require(p.virtual_stages == 1 || (p.pipeline > 1 && job_.constraints.stage_layers.empty()),
            "virtual stages without a free pipeline");
    const Constraints& c = job_.constraints;
    Require(p.pipeline == 1 || p.context == 1 || job_.training.trainer->context_with_pipeline ||
                (c.context_parallel.min > 1 && c.pipeline_parallel.min > 1),
            "context parallelism that nobody asked for in a pipeline of a trainer that has none");
    const DegreeRange& chunks = c.virtual_stages;
    Require(p.virtual_stages == 1 || job_.training.trainer->interleaves || asked ||
                chunks.min > 1 || chunks.max > 0,
            "virtual stages that nobody asked of a trainer that has none");
  }

  const Job& job_;
  const Plan& plan_;
  Faults faults_;
};

}  // namespace

std::vector<std::string> CheckDegrees(const Job& job, const Plan& plan) {
  return DegreesChecker(job, plan).Run();
}

}  // namespace evenkeel::planner
