// Sources: torchtitan/config/job_config.py, torchtitan/distributed/pipeline_parallel.py (0.2).
#include "client/cli/from/run/torchtitan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/cli/base/command_error.h"
#include "planner/space/parallelism.h"
#include "planner/trainer/executions.h"
#include "planner/trainer/trainers.h"
#include "server/convert/job/execution_from_proto.h"

namespace evenkeel::cli {
namespace {

constexpr int64_t kMostLayers = 512;
constexpr double kCompiledLossBytes = 4;  // held per logit, as docs/COST_MODEL.md 1.6 has it

}  // namespace

void SetTorchtitanStages(const UserConfig& config, UserRun* run) {
  if (run->degrees.pipeline() == 1) return;
  run->stage_cut = {.on = true,
                    .each = config.Int(Field::kLayersPerVirtualStage, 0, 1, kMostLayers),
                    .embedding = config.Int(Field::kEmbeddingLayers, 1, 0, kMostLayers),
                    .head = config.Int(Field::kHeadLayers, 1, 0, kMostLayers)};
}

// _get_pipeline_metadata() and generate_llm_fqn_per_model_part().
void CutTorchtitanStages(int64_t layers, UserRun* run) {
  const StageCut& cut = run->stage_cut;
  if (!cut.on) return;
  const int64_t ranks = run->degrees.pipeline(), counted = layers + cut.embedding + cut.head;
  if (cut.each > 0) {
    const int64_t stages = (counted + cut.each - 1) / cut.each;
    const bool interleaved = run->schedule == v1::PIPELINE_SCHEDULE_INTERLEAVED;
    if (stages % ranks != 0 || (stages > ranks) != interleaved)
      throw CommandError(
          ExitCode::kBadInput,
          fmt::format("parallelism.pipeline_parallel_layers_per_stage {}: {} layers, embedding and "
                      "head counted, make {} stages; with {} ranks and this schedule it must be {}",
                      cut.each, counted, stages, ranks,
                      interleaved ? fmt::format("a multiple of {} from {} on", ranks, 2 * ranks)
                                  : std::to_string(ranks)));
    run->degrees.set_virtual_stages(static_cast<int32_t>(stages / ranks));
  }
  const int64_t stages = ranks * run->degrees.virtual_stages();
  if (counted / stages < std::max<int64_t>({cut.embedding, cut.head, 1}))
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("{} layers do not make {} stages of a pipeline, with {} less in "
                                   "the first and {} less in the last",
                                   layers, stages, cut.embedding, cut.head));
  run->chunks.assign(static_cast<size_t>(stages), counted / stages);
  for (int64_t i = 0; i < counted % stages; ++i) ++run->chunks[static_cast<size_t>(i)];
  run->chunks.front() -= cut.embedding;
  run->chunks.back() -= cut.head;
}

// fully_shard gathers again in the backward pass unless there is a pipeline
// (fsdp_reshard_after_forward: "default").
v1::ZeroStage TorchtitanSharding(const UserConfig& config, const UserRun& run) {
  const std::string reshard = config.Text(Field::kReshard, "default");
  const int64_t replicas = config.Int(Field::kDataReplicas, 1, 1, planner::kGpusAtMost);
  // Nothing is shared with one rank, so that its record's stage says what is held.
  const bool alone = run.degrees.data() == 1 && run.degrees.context() == 1;
  if (replicas == run.degrees.data() && run.degrees.context() == 1 && !alone)
    return v1::ZERO_STAGE_0;
  if (reshard == "always" || (reshard == "default" && run.degrees.pipeline() == 1))
    return v1::ZERO_STAGE_3;
  return v1::ZERO_STAGE_1;
}

void AddTorchtitanDefaults(v1::Execution* execution) {
  v1::Execution defaults;
  server::ExecutionToProto(
      planner::DefaultExecution(*planner::FindTrainer("torchtitan"), planner::ZeroStage::kWeights),
      &defaults);
  defaults.clear_context_exchange();
  defaults.clear_fused_activation();  // follow fused_kernels
  defaults.clear_fused_rotary();
  defaults.clear_expert_dispatcher();
  defaults.clear_expert_tensor_parallel();
  defaults.clear_expert_capacity_ratio();
  defaults.clear_start_layers_16bit();
  defaults.clear_end_layers_16bit();
  defaults.MergeFrom(*execution);
  *execution = defaults;
}

// Experts are tensors, which only quantize.grouped_mm converts, or a key of older releases.
bool ConvertsExperts(const UserConfig& config, const std::vector<std::string>& converters) {
  const auto& others = config.not_predicted;
  return std::any_of(converters.begin(), converters.end(),
                     [](const std::string& converter) {
                       return converter.starts_with("quantize.grouped_mm.");
                     }) ||
         std::any_of(others.begin(), others.end(), [](const auto& other) {
           return other.first.key.starts_with("float8.moe_fqns");
         });
}

// Float8LinearConverter and MXLinearConverter (components/quantization, 0.2) quantise linear layers
// and leave the head alone (filter_fqns ["output"]).
v1::Precision TorchtitanPrecision(const UserConfig& config, UserRun* run) {
  v1::Precision precision = v1::PRECISION_BF16;
  std::vector<std::string> converters;
  for (const std::string& written : config.List(Field::kConverters))
    for (std::string& name : WordsOf(written)) converters.push_back(std::move(name));
  for (const std::string& converter : converters) {
    if (converter == "mx" || converter == "quantize.linear.mx") {
      precision = v1::PRECISION_MXFP8;
    } else if (converter == "float8" || converter == "quantize.linear.float8") {
      const std::string recipe = config.Text(Field::kFp8Recipe, "tensorwise");
      if (recipe != "tensorwise" && recipe != "rowwise" && recipe != "rowwise_with_gw_hp")
        config.Refuse(Field::kFp8Recipe, "must be tensorwise, rowwise or rowwise_with_gw_hp");
      precision = v1::PRECISION_FP8;
      if (recipe != "tensorwise")
        run->assumed.push_back("precision: fp8 with a scale for each tensor, not " + recipe);
    } else if (converter.starts_with("quantize.grouped_mm.")) {
      run->assumed.push_back("precision: experts multiply in the format of linear layers");
    } else {
      run->assumed.push_back("model.converters: \"" + converter + "\" is taken to change nothing");
    }
  }
  run->linear_layers_alone =
      precision != v1::PRECISION_BF16 && !ConvertsExperts(config, converters);
  return precision;
}

void SetTorchtitanExecution(const UserConfig& config, UserRun* run) {
  v1::Execution* e = run->job.mutable_training()->mutable_execution();
  e->set_sequence_parallel(config.On(Field::kSequenceParallel, true));
  e->set_overlap_tensor(config.On(Field::kOverlapTensor));
  e->set_stops_recompute_early(config.On(Field::kEarlyStop));
  if (run->degrees.context() > 1)
    e->set_context_exchange(config.Text(Field::kContextExchange, "allgather") == "alltoall"
                                ? v1::CONTEXT_EXCHANGE_RING
                                : v1::CONTEXT_EXCHANGE_ALL_GATHER);
  // The list of what to keep for Qwen3 has no exchanges (_op_sac_save_list of
  // torchtitan/models/qwen3/infra/parallelize.py, 0.2).
  if (config.Text(Field::kModelName) == "qwen3" && run->degrees.expert() > 1) {
    e->set_repeats_expert_exchanges(true);
    run->assumed.push_back(
        "recompute: experts exchange rows again under selective recompute, as up to release 0.2");
  }
  if (run->degrees.expert() > 1)
    e->set_expert_tensor_parallel(
        static_cast<int32_t>(config.Int(Field::kExpertTensor, 1, 1, 1024)));
  const double chunks = config.whole_logits ? 1 : planner::kTitanLossChunks;
  e->set_loss_logit_bytes(planner::kHeldLogitsLossBytes / chunks);
  e->set_tensor_loss_logit_bytes(4 / chunks);
  if (!config.On(Field::kCompile)) return;
  std::vector<std::string> parts = config.List(Field::kCompiledParts);
  if (!config.Has(Field::kCompiledParts)) parts = {"model", "loss"};
  const bool loss = std::count(parts.begin(), parts.end(), "loss") > 0;
  if (loss) {
    e->set_loss_logit_bytes(kCompiledLossBytes / chunks);
    e->set_tensor_loss_logit_bytes(0);
  }
  const bool model = std::count(parts.begin(), parts.end(), "model") > 0;
  if (model) e->set_fused_kernels(true);
  run->assumed.push_back(fmt::format("compile: kernels of the layers are {}, the loss is {}",
                                     model ? "fused" : "PyTorch's", loss ? "compiled" : "eager"));
}

}  // namespace evenkeel::cli
