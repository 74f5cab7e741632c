#include "tests/metamorphic/random_job.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/catalog.pb.h"
#include "planner/trainer/trainers.h"
#include "server/convert/answer/catalog_to_proto.h"
#include "server/planning/offers.h"

namespace evenkeel::metamorphic {
namespace {

const std::vector<std::string>& GpuTypes() {
  static const auto names = [] {
    v1::ListGpuTypesResponse all;
    server::ListGpuTypes({}, &all);
    std::vector<std::string> found;
    for (const v1::CatalogGpu& gpu : all.gpus()) found.push_back(gpu.name());
    return found;
  }();
  return names;
}

bool MultipliesInBfloat16(const std::string& name) {
  v1::ListGpuTypesResponse all;
  server::ListGpuTypes({}, &all);
  for (const v1::CatalogGpu& gpu : all.gpus())
    if (gpu.name() == name) return gpu.bfloat16();
  return true;
}

void DrawGpu(Draws& draws, v1::Gpu* gpu) {
  const int64_t chip = draws.Between(1, 9);
  gpu->set_name("chip-" + std::to_string(chip));
  if (chip == 1) gpu->set_costs_like("h100-sxm-80gb");
  if (chip == 2) gpu->set_costs_like("l40s-48gb");
  if (chip == 3) gpu->set_costs_like("mi300x-192gb");
  const bool ends = draws.OneIn(6);
  gpu->set_dense_16bit_flops_per_second(ends ? draws.Among({1e12, 1e17})
                                             : draws.Scaled(5e13, 5e15));
  gpu->set_memory_bytes(ends ? int64_t{1} << draws.Among({34, 42})
                             : draws.Scaled(int64_t{12} << 30, int64_t{512} << 30));
  gpu->set_memory_bytes_per_second(ends ? draws.Among({1e10, 1e15}) : draws.Scaled(3e11, 2e13));
  if (draws.OneIn(2)) gpu->set_scaleup_bytes_per_second(draws.Scaled(1e10, 2e12));
  if (draws.OneIn(3)) gpu->set_pcie_bytes_per_second(draws.Scaled(1e8, 1e13));
}

// Draws a part of a node, or whole nodes.
int64_t GpuCount(Draws& draws, Size size, int64_t node) {
  const int64_t most = size == Size::kSmall ? 16 : draws.OneIn(4) ? 4096 : 512;
  if (draws.OneIn(6) || node > most) return draws.Between(1, std::min(node, most));
  const int64_t nodes = draws.Scaled(int64_t{1}, most / node);
  return node * (draws.OneIn(2) ? nodes : std::max<int64_t>(1, nodes & (nodes - 1)));
}

void DrawPool(Draws& draws, Size size, v1::GpuPool* pool) {
  if (draws.OneIn(4)) {
    DrawGpu(draws, pool->mutable_gpu());
  } else {
    pool->set_gpu_type(draws.Among(GpuTypes()));
  }
  if (draws.OneIn(2)) pool->set_gpus_per_node(draws.Among({1, 2, 3, 4, 5, 6, 7, 12, 16, 72}));
  pool->set_gpu_count(static_cast<int>(GpuCount(draws, size, NodeOf(*pool))));
  if (draws.OneIn(5))
    pool->set_intra_node_bytes_per_second(draws.OneIn(4) ? draws.Among({1e8, 1e13})
                                                         : draws.Scaled(1e10, 1e12));
  if (draws.OneIn(4))
    pool->set_inter_node_bytes_per_second(draws.OneIn(4) ? draws.Among({1e7, 1e13})
                                                         : draws.Scaled(1e9, 1e11));
  if (draws.OneIn(5)) pool->set_reserved_bytes(draws.Between(0, int64_t{10} << 30));
  if (draws.OneIn(3)) pool->set_price_per_gpu_hour(draws.Among({0.01, 2.5, 1e6}));
}

void DrawExecution(Draws& draws, bool deepspeed, v1::Execution* execution) {
  if (draws.OneIn(2)) {
    execution->set_context_exchange(
        draws.Among({v1::CONTEXT_EXCHANGE_RING, v1::CONTEXT_EXCHANGE_ALL_GATHER,
                     v1::CONTEXT_EXCHANGE_HIERARCHICAL}));
  }
  if (draws.OneIn(3)) {
    execution->set_attention_kernel(draws.Among(
        {v1::ATTENTION_KERNEL_FLASH, v1::ATTENTION_KERNEL_UNFUSED, v1::ATTENTION_KERNEL_FLASH_2}));
  }
  if (draws.OneIn(4)) execution->set_sequence_parallel(draws.OneIn(2));
  if (draws.OneIn(6)) execution->set_dropout(true);
  if (draws.OneIn(5)) {
    execution->set_fused_loss(false);
    if (draws.OneIn(3) && !deepspeed) execution->set_compiled_loss(true);
  }
  if (draws.OneIn(5)) execution->set_overlap_gradient_reduce(draws.OneIn(2));
  if (draws.OneIn(5)) execution->set_overlap_weight_gather(draws.OneIn(2));
  if (draws.OneIn(6)) execution->set_overlap_tensor(true);
  if (draws.OneIn(8)) execution->set_expert_tensor_parallel(draws.Among({2, 3, 8}));
  if (draws.OneIn(8)) execution->set_fused_kernels(false);
  if (draws.OneIn(8)) execution->set_fused_weight_gradients(false);
  if (draws.OneIn(8)) execution->set_host_launch_seconds(draws.Among({0.0, 2e-6, 3e-4, 0.01}));
}

// Draws trainers and how they run a model.
void DrawTrainer(Draws& draws, v1::Training* training) {
  if (draws.OneIn(4)) {
    const std::span<const planner::Trainer> known = planner::Trainers();
    const int64_t chosen = draws.Between(0, static_cast<int64_t>(known.size()));
    training->clear_framework();
    training->mutable_trainer()->set_name(
        chosen == static_cast<int64_t>(known.size())
            ? "an unknown one"
            : std::string(known[static_cast<size_t>(chosen)].name));
  }
  v1::Execution drawn;
  if (draws.OneIn(8)) drawn.set_kernel_rate_ratio(draws.Among({0.1, 0.5, 0.9, 1.25}));
  if (draws.OneIn(8)) drawn.set_rank_gather_seconds(draws.Among({0.0, 1e-5, 3e-3, 1.0}));
  if (draws.OneIn(8)) drawn.set_weight_hook_seconds(draws.Among({0.0, 1e-4, 0.1}));
  if (draws.OneIn(8)) drawn.set_update_parameter_bytes(draws.Among({0.0, 4.0, 6.0, 64.0}));
  if (draws.OneIn(8)) drawn.set_loss_logit_bytes(draws.Among({0.0, 6.0, 14.0, 64.0}));
  if (draws.OneIn(8)) drawn.set_expert_capacity_ratio(draws.Among({0.0, 1.0, 1.5, 100.0}));
  if (draws.OneIn(8)) drawn.set_bucket_bytes(draws.Scaled(int64_t{1}, int64_t{4'000'000'000}));
  if (draws.OneIn(8)) drawn.set_grouped_experts(draws.OneIn(2));
  if (draws.OneIn(8)) drawn.set_casts_master_weights(draws.OneIn(2));
  if (draws.OneIn(8)) drawn.set_keeps_gathered_inputs(draws.OneIn(2));
  if (draws.OneIn(8)) drawn.set_tensor_loss_logit_bytes(draws.Among({0.0, 4.0, 64.0}));
  if (draws.OneIn(4)) drawn.set_frees_gradients(draws.OneIn(2));
  if (draws.OneIn(4)) drawn.set_pools_gradients(draws.OneIn(2));
  if (draws.OneIn(8)) drawn.set_gather_traffic_bytes(draws.Among({0.0, 8.0, 256.0}));
  if (draws.OneIn(8)) drawn.set_reduce_traffic_bytes(draws.Among({0.0, 18.0, 256.0}));
  if (draws.OneIn(8)) drawn.set_reduces_fp32(draws.OneIn(2));
  if (draws.OneIn(8)) drawn.set_copies_tensor_rows(draws.OneIn(2));
  drawn.set_fp32_adapters(draws.OneIn(8));
  drawn.set_repeats_expert_exchanges(draws.OneIn(8));
  if (draws.OneIn(8)) drawn.set_adapter_gather_seconds(draws.Among({0.0, 0.0004, 0.1}));
  if (draws.OneIn(4)) drawn.set_accumulates_whole_gradients(draws.OneIn(2));
  if (draws.OneIn(8)) drawn.set_fused_norms(draws.OneIn(2));
  if (draws.OneIn(4)) drawn.set_stops_recompute_early(draws.OneIn(2));
  if (drawn.ByteSizeLong() > 0) training->mutable_execution()->MergeFrom(drawn);
}

// Draws the length of a sample, in tokens, for a histogram of some shape.
int64_t Length(Draws& draws, int64_t shape, int64_t longest) {
  switch (shape) {
    case 0:  // short
      return draws.Between(1, std::min<int64_t>(longest, 300));
    case 1:  // all of one kind
      return std::max<int64_t>(1, longest - draws.Between(0, longest / 50));
    case 2:  // a long tail
      return draws.Scaled(int64_t{1}, longest);
    default:
      return draws.Between(1, longest);
  }
}

// Draws few samples in most small jobs, because packing them is most of the work there.
int64_t SampleCount(Draws& draws, Size size) {
  if (draws.OneIn(size == Size::kSmall ? 400 : 60)) return draws.Between(1, 100'000'000'000);
  const bool few = size == Size::kSmall && !draws.OneIn(100);
  return draws.OneIn(3) ? draws.Between(1, 100)
                        : draws.Scaled(int64_t{1}, few ? int64_t{500} : int64_t{100000});
}

// Draws around a divisor of `whole` that is at most `most`.
v1::DegreeRange Range(Draws& draws, int64_t whole, int64_t most) {
  v1::DegreeRange range;
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= std::min<int64_t>({whole, most, 64}); ++d) {
    if (whole % d == 0) divisors.push_back(d);
  }
  const int64_t least = divisors.empty() ? 1 : draws.Among(divisors);
  if (draws.OneIn(3)) {  // pinned
    range.set_min(static_cast<int>(least));
    range.set_max(static_cast<int>(least));
  } else if (draws.OneIn(2)) {
    range.set_max(static_cast<int>(least * draws.Among({1, 2, 4})));
  } else {
    range.set_min(static_cast<int>(least));
  }
  return range;
}

void DrawStageLayers(Draws& draws, int64_t layers, int64_t gpus, v1::Constraints* to) {
  std::vector<int64_t> stages;
  for (int64_t p = 2; p <= std::min({layers, gpus, int64_t{16}}); ++p) {
    if (gpus % p == 0) stages.push_back(p);
  }
  if (stages.empty()) return;
  const int64_t p = draws.Among(stages);
  std::vector<int64_t> each(static_cast<size_t>(p), 1);
  for (int64_t left = layers - p; left > 0; --left)
    ++each[static_cast<size_t>(draws.Between(0, p - 1))];
  for (const int64_t count : each) to->add_stage_layers(static_cast<int>(count));
}

// Each other pool is an offer, and so is each count.
void DrawOffers(Draws& draws, Size size, v1::Job* job) {
  v1::Cluster* cluster = job->mutable_cluster();
  v1::GpuPool* pool = cluster->mutable_pools(0);
  const int64_t node = NodeOf(*pool);
  if (draws.OneIn(2) && (size == Size::kFull || node <= 16)) {
    pool->add_gpu_counts(pool->gpu_count());
    pool->clear_gpu_count();
    const int64_t most = size == Size::kSmall ? 16 / node : 16;
    for (const int64_t nodes : {draws.Between(1, most), draws.Between(1, most)}) {
      const int count = static_cast<int>(node * nodes);
      const auto& counts = pool->gpu_counts();
      if (std::find(counts.begin(), counts.end(), count) == counts.end())
        pool->add_gpu_counts(count);
    }
  } else {
    DrawPool(draws, size, cluster->add_pools());
  }
  v1::Objective* objective = job->mutable_objective();
  objective->set_kind(draws.Among({v1::OBJECTIVE_KIND_STEP_TIME, v1::OBJECTIVE_KIND_GPU_DAYS,
                                   v1::OBJECTIVE_KIND_FEWEST_GPUS, v1::OBJECTIVE_KIND_COST}));
  if (objective->kind() == v1::OBJECTIVE_KIND_FEWEST_GPUS)
    objective->set_deadline_seconds(draws.Scaled(1.0, 1e10));
  if (objective->kind() != v1::OBJECTIVE_KIND_COST) return;
  for (v1::GpuPool& each : *cluster->mutable_pools())
    if (each.price_per_gpu_hour() == 0) each.set_price_per_gpu_hour(draws.Scaled(0.5, 20.0));
}

void DrawReliability(Draws& draws, v1::Reliability* to) {
  to->set_node_mean_time_between_failures_seconds(draws.Scaled(60.0, 1e10));
  to->set_checkpoint_bytes_per_second(draws.Scaled(1e6, 1e13));
  if (draws.OneIn(2)) to->set_restart_seconds(draws.Scaled(1.0, 1e7));
  if (draws.OneIn(2)) to->set_checkpoint_interval_seconds(draws.Scaled(1.0, 1e7));
}

void DrawLaunch(Draws& draws, v1::Job* job) {
  for (int framework = v1::LAUNCH_FRAMEWORK_MEGATRON; framework <= v1::LAUNCH_FRAMEWORK_FSDP;
       ++framework) {
    if (draws.OneIn(3)) job->add_launch_frameworks(static_cast<v1::LaunchFramework>(framework));
  }
}

}  // namespace

void DrawCluster(Draws& draws, Size size, v1::Cluster* cluster) {
  DrawPool(draws, size, cluster->add_pools());
}

void DrawTraining(Draws& draws, Size size, bool encoder, v1::Training* training) {
  const int64_t batch = size == Size::kSmall && !draws.OneIn(20) ? 512 : 16384;
  training->set_global_batch_samples(
      draws.OneIn(3)
          ? std::min<int64_t>(4 * batch, draws.Among({1, 7, 64, 510, 512, 1000, 4096, 4100}))
          : draws.Scaled(int64_t{1}, batch));
  if (draws.OneIn(size == Size::kSmall ? 400 : 60)) training->set_global_batch_samples(10'000'000);
  if (encoder && draws.OneIn(4)) training->set_unit_cap(draws.Scaled(int64_t{1}, int64_t{256}));
  // Deriving caps is most of the work of a small job.
  const bool derived = size == Size::kSmall ? draws.OneIn(4) : !draws.OneIn(3);
  if (!derived) training->set_token_cap(draws.Scaled(int64_t{128}, int64_t{65536}));
  if (draws.OneIn(8))
    training->set_framework(
        draws.Among({v1::TRAINING_FRAMEWORK_MEGATRON, v1::TRAINING_FRAMEWORK_FSDP,
                     v1::TRAINING_FRAMEWORK_DEEPSPEED}));
  if (draws.OneIn(3) && training->framework() != v1::TRAINING_FRAMEWORK_FSDP)
    training->set_zero_stage(
        draws.Among({v1::ZERO_STAGE_0, v1::ZERO_STAGE_1, v1::ZERO_STAGE_2, v1::ZERO_STAGE_3}));
  if (draws.OneIn(4)) training->set_gradient_precision(v1::GRADIENT_PRECISION_16BIT);
  if (draws.OneIn(3)) training->set_epochs(draws.Among({1, 2, 3, 100, 10000}));
  if (draws.OneIn(4)) training->set_seed(static_cast<int64_t>(draws.Next()));
  if (draws.OneIn(3))
    training->set_packer(
        static_cast<v1::Packer>(draws.Between(v1::PACKER_BALANCED, v1::PACKER_NEXT_FIT)));
  if (draws.OneIn(8)) training->set_isf_iterations(static_cast<int>(draws.Between(1, 20)));
  if (draws.OneIn(4)) training->set_order_window(draws.Scaled(int64_t{1}, int64_t{1'000'000'000}));
  const bool deepspeed = training->framework() == v1::TRAINING_FRAMEWORK_DEEPSPEED;
  if (draws.OneIn(2)) DrawExecution(draws, deepspeed, training->mutable_execution());
  if (training->token_cap() == 0 && draws.OneIn(10)) {
    training->set_group_selection(draws.Among(
        {v1::GROUP_SELECTION_ONE, v1::GROUP_SELECTION_PUBLISHED, v1::GROUP_SELECTION_EXACT}));
    if (draws.OneIn(3)) {
      int64_t length = 0;
      for (int i = static_cast<int>(draws.Between(1, 5)); i > 0; --i)
        training->add_group_lengths(
            length = std::max<int64_t>(length + 128, draws.Scaled(int64_t{128}, int64_t{65536})));
    }
    if (draws.OneIn(3)) training->set_curriculum_steps(draws.Among({0, 10, 1'000'000'000}));
  }
}

void DrawDataset(Draws& draws, Size size, const std::vector<int64_t>& tokens_per_unit,
                 v1::Job* job) {
  const int encoders = static_cast<int>(tokens_per_unit.size());
  const bool built_in = draws.OneIn(size == Size::kSmall ? 40 : 8);
  if (built_in && encoders <= 1) return;
  v1::Dataset* dataset = job->mutable_dataset();
  const int64_t parts = draws.OneIn(12) ? draws.Between(2, 4) : 0;
  const int64_t shape = draws.Between(0, 3);
  const int64_t longest = draws.OneIn(12) ? draws.Scaled(int64_t{16384}, int64_t{524288})
                                          : draws.Scaled(int64_t{16}, int64_t{16384});
  for (int64_t i = 0; i < std::max<int64_t>(1, parts); ++i) {
    v1::Histogram* histogram = nullptr;
    if (parts == 0) {
      histogram = dataset->mutable_histogram();
    } else {
      v1::DatasetPart* part = dataset->add_parts();
      part->set_name("part " + std::to_string(i));
      histogram = part->mutable_histogram();
    }
    const int64_t bins = draws.OneIn(3)    ? 1
                         : draws.OneIn(12) ? draws.Between(20, size == Size::kSmall ? 60 : 400)
                                           : draws.Between(2, 20);
    const bool units = encoders > 0 && !draws.OneIn(10);
    if (encoders > 1) histogram->set_encoder_count(encoders);
    for (int64_t bin = 0; bin < bins; ++bin) {
      int64_t tokens = Length(draws, shape, longest);
      for (int e = 0; units && e < encoders; ++e) {
        const int64_t count = draws.OneIn(4) ? 0 : draws.Between(1, draws.OneIn(10) ? 100 : 13);
        histogram->add_units(count);
        tokens =
            std::min<int64_t>(16'777'216, tokens + count * tokens_per_unit[static_cast<size_t>(e)]);
      }
      histogram->add_llm_tokens(tokens);
      histogram->add_sample_count(SampleCount(draws, size));
    }
  }
}

void DrawConstraints(Draws& draws, int64_t layers, v1::Job* job) {
  v1::Constraints* to = job->mutable_constraints();
  const v1::GpuPool& pool = job->cluster().pools(0);
  const int64_t gpus = pool.gpu_count();
  const int64_t node = std::min<int64_t>(gpus, NodeOf(pool));
  if (draws.OneIn(5)) *to->mutable_tensor_parallel() = Range(draws, node, node);
  if (draws.OneIn(5)) *to->mutable_pipeline_parallel() = Range(draws, gpus, layers);
  if (draws.OneIn(7)) *to->mutable_data_parallel() = Range(draws, gpus, gpus);
  if (draws.OneIn(7)) *to->mutable_context_parallel() = Range(draws, gpus, gpus);
  if (draws.OneIn(10) && FactsOf(job->model()).experts)
    *to->mutable_expert_parallel() = Range(draws, gpus, gpus);
  if (draws.OneIn(3))
    to->set_recompute(
        static_cast<v1::RecomputePolicy>(draws.Between(1, v1::RECOMPUTE_POLICY_ONE_SETTING)));
  switch (draws.Between(1, 8)) {
    case 1:
      DrawStageLayers(draws, layers, gpus, to);
      if (to->stage_layers_size() > 0) to->clear_pipeline_parallel();
      break;
    case 2:
      to->set_schedule(static_cast<v1::PipelineSchedule>(
          draws.Between(v1::PIPELINE_SCHEDULE_1F1B, v1::PIPELINE_SCHEDULE_ZERO_BUBBLE)));
      break;
    case 3:
      to->set_partition_method(static_cast<v1::PartitionMethod>(
          draws.Between(v1::PARTITION_METHOD_EXACT, v1::PARTITION_METHOD_PROFILE)));
      break;
    case 4:
      *to->mutable_virtual_stages() = Range(draws, 12, std::min<int64_t>(layers, 4));
      break;
    default:
      break;
  }
}

namespace {

// Draws constraints. If no degrees satisfy them, it draws again; after a few tries the job has
// none.
void DrawAdmittedConstraints(Draws& draws, int64_t layers, v1::PlanJobRequest* request) {
  for (int tries = 0; tries < 5; ++tries) {
    request->mutable_job()->clear_constraints();
    DrawConstraints(draws, layers, request->mutable_job());
    server::OfferJobs offers;
    if (server::OffersFromProto(*request, &offers).empty()) return;
  }
  request->mutable_job()->clear_constraints();
}

// Draws a trainer and a confidence, unless the rest of the request does not allow them.
void DrawAdmittedTrainer(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  DrawTrainer(draws, changed.mutable_job()->mutable_training());
  if (draws.OneIn(10))
    changed.mutable_job()->mutable_constraints()->set_memory_confidence_ratio(
        draws.Among({0.5, 0.8, 0.99}));
  TakeIfAdmitted(std::move(changed), request);
}

// Draws a precision below 16 bits, where the GPU types and the trainer have it, and defaults that
// go with large models.
void DrawAdmittedPrecision(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  v1::Training* training = changed.mutable_job()->mutable_training();
  training->set_precision(
      draws.Among({v1::PRECISION_FP8, v1::PRECISION_FP8_DELAYED, v1::PRECISION_FP8_BLOCK,
                   v1::PRECISION_MXFP8, v1::PRECISION_NVFP4}));
  if (draws.OneIn(3)) training->mutable_execution()->set_holds_quantised_weights(true);
  if (draws.OneIn(4)) training->mutable_execution()->set_keeps_quantised_inputs(false);
  if (draws.OneIn(3)) training->mutable_execution()->set_overlap_experts(true);
  changed.set_compare_precisions(draws.OneIn(8)), changed.set_compare_shardings(draws.OneIn(8));
  if (draws.OneIn(3)) training->set_zero_group(draws.Among({1, 2, 4, 7, 8}));
  if (draws.OneIn(2)) training->set_optimizer(static_cast<v1::Optimizer>(draws.Between(1, 8)));
  if (draws.OneIn(4)) training->mutable_execution()->set_start_layers_16bit(1);
  if (draws.OneIn(4)) training->mutable_execution()->set_end_layers_16bit(1);
  TakeIfAdmitted(std::move(changed), request);
}

// Draws a dispatcher of experts, and the network between nodes.
void DrawAdmittedDispatcher(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  v1::Execution* execution = changed.mutable_job()->mutable_training()->mutable_execution();
  execution->set_expert_dispatcher(static_cast<v1::ExpertDispatcher>(draws.Between(1, 5)));
  if (draws.OneIn(3)) execution->set_overlap_shared_expert(true);
  if (draws.OneIn(3)) {
    for (v1::GpuPool& pool : *changed.mutable_job()->mutable_cluster()->mutable_pools())
      pool.set_network_fabric(v1::NETWORK_FABRIC_EFA);
  }
  TakeIfAdmitted(std::move(changed), request);
}

// Draws a trainer whose ranks share the images of a pack, and how many of them may.
void DrawEncoderData(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  v1::Training* training = changed.mutable_job()->mutable_training();
  training->clear_framework();
  training->mutable_trainer()->set_name(draws.OneIn(4) ? "xtuner" : "unlimited");
  TakeIfAdmitted(changed, request);
  if (draws.OneIn(2)) return;
  changed = *request;
  const int64_t gpus = changed.job().cluster().pools(0).gpu_count();
  *changed.mutable_job()->mutable_constraints()->mutable_encoder_data_parallel() =
      Range(draws, gpus, gpus);
  TakeIfAdmitted(std::move(changed), request);
}

// Pads micro-batches instead of packing, and removes all settings of packs.
void DrawPadding(Draws& draws, v1::Training* training) {
  training->clear_unit_cap();
  training->clear_token_cap();
  training->clear_packer();
  training->clear_isf_iterations();
  training->clear_order_window();
  training->clear_group_selection();
  training->clear_group_lengths();
  training->clear_curriculum_steps();
  training->set_micro_batch_samples(draws.Scaled(int64_t{1}, int64_t{32}));
  if (draws.OneIn(3)) training->mutable_padding()->set_multiple(draws.Among({8, 64, 128}));
}

// Gives every sample one unit, and tokens that a decoder has positions for.
void GiveOneUnit(v1::Dataset* dataset) {
  const auto give = [](v1::Histogram* histogram) {
    histogram->clear_units();
    for (int64_t& tokens : *histogram->mutable_llm_tokens()) {
      tokens = 1 + (tokens - 1) % kOneUnitTokens;
      histogram->add_units(1);
    }
  };
  if (dataset->has_histogram()) give(dataset->mutable_histogram());
  for (v1::DatasetPart& part : *dataset->mutable_parts()) give(part.mutable_histogram());
}

}  // namespace

v1::PlanJobRequest RandomRequest(uint64_t seed, int64_t number, Size size) {
  const uint64_t stream = size == Size::kSmall ? 1 : (size == Size::kFull ? 2 : 4);
  Draws draws(seed, static_cast<uint64_t>(number), stream);
  const bool several = size == Size::kEncoders;
  if (several) size = Size::kSmall;
  v1::PlanJobRequest request;
  v1::Job* job = request.mutable_job();
  if (several) {
    DrawModelOfEncoders(draws, job->mutable_model());
  } else {
    DrawModel(draws, size, job->mutable_model());
  }
  const ModelFacts facts = FactsOf(job->model());
  DrawCluster(draws, size, job->mutable_cluster());
  DrawTraining(draws, size, !facts.tokens_per_unit.empty(), job->mutable_training());
  if (!MultipliesInBfloat16(job->cluster().pools(0).gpu_type()))
    job->mutable_training()->set_precision(v1::PRECISION_FP16);
  DrawDataset(draws, size, facts.tokens_per_unit, job);
  if (facts.one_unit && job->has_dataset()) GiveOneUnit(job->mutable_dataset());
  if (!draws.OneIn(3)) DrawAdmittedConstraints(draws, facts.layers, &request);
  if (draws.OneIn(6)) DrawReliability(draws, job->mutable_reliability());
  if (draws.OneIn(size == Size::kSmall ? 24 : 40)) DrawLaunch(draws, job);
  if (draws.OneIn(10)) {
    DrawOffers(draws, size, job);
    for (const v1::GpuPool& pool : job->cluster().pools())
      if (!MultipliesInBfloat16(pool.gpu_type()))
        job->mutable_training()->set_precision(v1::PRECISION_FP16);
  }
  if (draws.OneIn(20)) request.set_compare_sizes(true);
  if (draws.OneIn(3)) request.set_max_alternatives(static_cast<int>(draws.Between(0, 10)));
  // This comes last, so that jobs of earlier versions keep everything else.
  DrawAdmittedTrainer(draws, &request);
  if (draws.OneIn(3)) DrawAdmittedPrecision(draws, &request);
  if (!facts.tokens_per_unit.empty() && draws.OneIn(3)) DrawEncoderData(draws, &request);
  if (draws.OneIn(3)) DrawAdmittedDispatcher(draws, &request);
  if (draws.OneIn(12)) DrawPadding(draws, request.mutable_job()->mutable_training());
  if (draws.OneIn(3)) DrawAdmittedOffload(draws, facts.layers, &request);
  if (draws.OneIn(6)) DrawAdmittedTiers(draws, &request);
  if (draws.OneIn(24)) DrawAdmittedInterleavedModules(draws, &request);
  if (draws.OneIn(6)) DrawAdmittedWeights(draws, &request);
  return request;
}

}  // namespace evenkeel::metamorphic
