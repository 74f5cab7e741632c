// Draws the place of a job's states and activations, and the tiers of its network.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "planner/hardware/gpus.h"
#include "server/planning/offers.h"
#include "tests/metamorphic/random_job.h"

namespace evenkeel::metamorphic {
namespace {

// Draws the memory of hosts and how fast it is.
void DrawHosts(Draws& draws, v1::Cluster* cluster) {
  for (v1::GpuPool& pool : *cluster->mutable_pools()) {
    if (draws.OneIn(2))
      pool.set_host_memory_bytes(draws.Scaled(int64_t{1} << 34, int64_t{1} << 42));
    if (draws.OneIn(3)) pool.set_host_link_bytes_per_second(draws.Scaled(1e9, 1e12));
    if (draws.OneIn(3)) pool.set_host_memory_bytes_per_second(draws.Scaled(1e10, 1e13));
  }
}

// Makes `name` the trainer, at its usual ZeRO stage or at stage 3.
void SetTrainer(const char* name, bool shards_weights, v1::Training* training) {
  training->clear_framework();
  training->clear_execution();
  training->clear_zero_stage();
  training->mutable_trainer()->set_name(name);
  if (shards_weights) training->set_zero_stage(v1::ZERO_STAGE_3);
}

void DrawModules(Draws& draws, v1::Offload* offload) {
  if (draws.OneIn(2)) return offload->set_choose_activation_modules(true);
  offload->add_activation_modules(v1::OFFLOAD_MODULE_QKV);
  if (draws.OneIn(2)) offload->add_activation_modules(v1::OFFLOAD_MODULE_CORE_ATTENTION);
  if (draws.OneIn(2)) offload->add_activation_modules(v1::OFFLOAD_MODULE_MOE_ACTIVATION);
}

// Leaves what is kept in host memory to one group of packs.
void ClearGroups(v1::Training* training) {
  training->set_group_selection(v1::GROUP_SELECTION_ONE);
  training->clear_group_lengths();
  training->clear_curriculum_steps();
}

// Takes steps of about one micro-batch for each GPU, where the request says how large those are.
void DrawFusedStep(Draws& draws, v1::Job* job) {
  v1::Training* training = job->mutable_training();
  SetTrainer(draws.Among({"torchtitan", "torchtune", "pytorch-fsdp", "unlimited"}), true, training);
  training->set_fused_step(true);
  const int64_t gpus = job->cluster().pools(0).gpu_count();
  const int64_t samples = std::max<int64_t>(1, training->micro_batch_samples());
  training->set_global_batch_samples(std::max<int64_t>(1, gpus * samples / draws.Among({1, 2, 4})));
  if (draws.OneIn(4)) training->mutable_offload()->set_choose_activation_layers(true);
}

}  // namespace

void DrawAdmittedOffload(Draws& draws, int64_t layers, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  v1::Job* job = changed.mutable_job();
  v1::Training* training = job->mutable_training();
  ClearGroups(training);
  switch (draws.Between(1, 6)) {
    case 1:
    case 2:
      SetTrainer(draws.Among({"megatron-core", "deepspeed", "unlimited"}), draws.OneIn(3),
                 training);
      training->mutable_offload();
      if (draws.OneIn(2))
        training->mutable_offload()->set_optimizer_ratio(draws.Among({0.0, 0.25, 0.5, 1.0}));
      break;
    case 3:
    case 4: {
      const char* const trainer = draws.Among({"megatron-core", "torchtune", "unlimited"});
      SetTrainer(trainer, false, training);
      if (draws.OneIn(3)) {
        DrawModules(draws, training->mutable_offload());
      } else if (draws.OneIn(2)) {
        training->mutable_offload()->set_choose_activation_layers(true);
      } else {
        training->mutable_offload()->set_activation_layers(
            static_cast<int32_t>(draws.Between(0, std::max<int64_t>(1, layers))));
      }
      if (std::string_view(trainer) != "torchtune" && draws.OneIn(3)) {
        training->mutable_offload()->clear_optimizer_ratio();
        training->mutable_offload()->set_choose_optimizer_ratio(true);
      }
      break;
    }
    case 5:
      SetTrainer(draws.Among({"torchtitan", "torchtune", "deepspeed", "unlimited"}), true,
                 training);
      training->mutable_offload()->set_weights(true);
      break;
    default:
      DrawFusedStep(draws, job);
  }
  if (training->has_offload()) DrawHosts(draws, job->mutable_cluster());
  TakeIfAdmitted(std::move(changed), request);
}

void DrawAdmittedInterleavedModules(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  v1::Job* job = changed.mutable_job();
  v1::Training* training = job->mutable_training();
  ClearGroups(training);
  training->clear_offload();
  SetTrainer(draws.Among({"megatron-core", "unlimited"}), false, training);
  DrawModules(draws, training->mutable_offload());
  v1::Constraints* constraints = job->mutable_constraints();
  constraints->Clear();
  constraints->mutable_pipeline_parallel()->set_min(2);
  constraints->mutable_pipeline_parallel()->set_max(draws.Among({2, 4}));
  constraints->mutable_virtual_stages()->set_min(draws.Among({1, 2}));
  constraints->mutable_virtual_stages()->set_max(draws.Among({2, 3}));
  DrawHosts(draws, job->mutable_cluster());
  TakeIfAdmitted(std::move(changed), request);
}

void DrawAdmittedTiers(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  for (v1::GpuPool& pool : *changed.mutable_job()->mutable_cluster()->mutable_pools()) {
    const int64_t node = NodeOf(pool);
    const int64_t domain = node * draws.Among({1, 2, 4, 9});
    v1::NetworkTier* inner = pool.add_network_tiers();
    inner->set_gpu_count(static_cast<int32_t>(domain));
    int64_t used = domain;
    if (domain > node && draws.OneIn(3)) {
      used = domain - node;
      inner->set_usable_gpu_count(static_cast<int32_t>(used));
    }
    if (draws.OneIn(2)) continue;
    pool.add_network_tiers()->set_gpu_count(static_cast<int32_t>(used * draws.Among({1, 2, 3, 8})));
    v1::NetworkTier* outer = pool.add_network_tiers();
    if (draws.OneIn(2)) outer->set_oversubscription_ratio(draws.Scaled(1.0, 8.0));
  }
  TakeIfAdmitted(std::move(changed), request);
}

bool TakeIfAdmitted(v1::PlanJobRequest changed, v1::PlanJobRequest* request) {
  server::OfferJobs offers;
  if (!server::OffersFromProto(changed, &offers).empty()) return false;
  *request = std::move(changed);
  return true;
}

int64_t NodeOf(const v1::GpuPool& pool) {
  if (pool.gpus_per_node() != 0) return pool.gpus_per_node();
  const planner::GpuEntry* entry = planner::FindGpu(pool.gpu_type());
  return entry == nullptr ? planner::GpuSpec().node_gpus : entry->spec.node_gpus;
}

void DrawAdmittedWeights(Draws& draws, v1::PlanJobRequest* request) {
  v1::PlanJobRequest changed = *request;
  v1::Training* training = changed.mutable_job()->mutable_training();
  v1::Execution* execution = training->mutable_execution();
  training->set_optimizer(
      draws.Among({v1::OPTIMIZER_ADAM, v1::OPTIMIZER_ADAM_16BIT_MOMENTS, v1::OPTIMIZER_LION}));
  if (draws.OneIn(2)) {
    execution->set_autocast(true);
    execution->clear_casts_master_weights();
  } else if (draws.OneIn(2)) {
    execution->set_stores_weight_remainders(draws.OneIn(2));
  }
  if (draws.OneIn(2)) execution->set_fused_activation(draws.OneIn(2));
  if (draws.OneIn(2)) execution->set_fused_rotary(draws.OneIn(2));
  if (draws.OneIn(2)) execution->set_rms_norm_bytes(draws.Among({0.0, 2.0, 16.0}));
  if (draws.OneIn(2)) execution->set_gathers_to_recompute(draws.OneIn(2));
  if (draws.OneIn(2)) execution->set_copies_reduced_gradients(draws.OneIn(2));
  if (draws.OneIn(2)) execution->set_collective_launches(draws.Among({0, 1, 12, 100}));
  TakeIfAdmitted(std::move(changed), request);
}

}  // namespace evenkeel::metamorphic
