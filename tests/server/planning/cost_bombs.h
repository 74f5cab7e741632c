// The most expensive requests that the contract accepts. Each drives one field, or several
// together, to its bound.
#ifndef EVENKEEL_TESTS_SERVER_PLANNING_COST_BOMBS_H_
#define EVENKEEL_TESTS_SERVER_PLANNING_COST_BOMBS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::server {

struct CostBomb {
  std::string name;
  v1::PlanJobRequest request;
};

// Numbers with many divisors, and thus many parallelisms, within the bound of 65536.
inline constexpr int kManyDivisors = 55440, kManySmallDivisors = 61440;

inline v1::PlanJobRequest TextRequest(const std::string& model, int gpus, int per_node = 8) {
  v1::PlanJobRequest request;
  request.mutable_job()->mutable_model()->set_name(model);
  auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
  pool->set_gpu_type("h100-sxm-80gb");
  pool->set_gpu_count(gpus);
  pool->set_gpus_per_node(per_node);
  return request;
}

// Fills in as many bins as 64 KiB hold.
inline void FillHistogram(v1::Histogram* histogram, bool units, int64_t first, int64_t step) {
  const auto bytes = [](int64_t value) {
    return value < 128 ? 1 : value < 16384 ? 2 : value < 2097152 ? 3 : 4;
  };
  int64_t left = 65500;
  for (int64_t i = 0;; ++i) {
    const int64_t tokens = units ? first + (i / 40) * step + 40 * 256 : first + i * step;
    const int64_t count = 1 + i * 7919 % 127;
    left -= bytes(tokens) + bytes(count) + (units ? 1 : 0);
    if (left < 0) return;
    if (units) histogram->add_units(i % 40);
    histogram->add_llm_tokens(tokens);
    histogram->add_sample_count(count);
  }
}

// Describes the deepest model with the most heads, and thus the most tensor and context degrees.
inline void DescribeDeepest(v1::Model* model, bool encoder, int experts) {
  auto* language = model->mutable_language_model();
  language->set_layers(512);
  language->set_hidden_size(16384);
  language->set_attention_heads(960);
  language->set_kv_heads(960);
  language->set_head_size(16);
  language->set_ffn_size(53248);
  language->set_gated_mlp(true);
  language->set_norm(v1::NORM_RMS);
  language->set_vocabulary_size(128256);
  language->set_tied_embeddings(false);
  if (experts > 0) {
    auto* moe = language->mutable_mixture_of_experts();
    moe->set_experts(experts);
    moe->set_experts_per_token(std::min(experts, 8));
    moe->set_expert_ffn_size(2048);
    moe->set_first_dense_layers(3);
  }
  if (!encoder) return;
  auto* tower = model->add_encoders();
  tower->set_layers(128);
  tower->set_hidden_size(3200);
  tower->set_attention_heads(25);
  tower->set_head_size(128);
  tower->set_ffn_size(12800);
  tower->set_gated_mlp(false);
  tower->set_norm(v1::NORM_LAYER);
  tower->set_tokens_per_unit(1025);
  tower->set_llm_tokens_per_unit(256);
  tower->set_modality(v1::MODALITY_IMAGE);
}

inline v1::PlanJobRequest DeepestRequest(bool encoder, int experts, int gpus, int per_node) {
  v1::PlanJobRequest request = TextRequest("", gpus, per_node);
  DescribeDeepest(request.mutable_job()->mutable_model(), encoder, experts);
  return request;
}

// Asks for the largest batch. It is refused for deep models and long samples: more than 10^9
// GPU-seconds per step.
inline void AskForAll(v1::PlanJobRequest* request, int64_t batch = 0) {
  const bool deepest = request->job().model().language_model().layers() > 0;
  if (batch == 0) batch = deepest ? 1'000'000 : 10'000'000;
  request->mutable_job()->mutable_training()->set_global_batch_samples(batch);
  request->set_compare_sizes(true);
  request->set_max_alternatives(16);
}

// Asks for launch settings for every trainer. Each may search again under what it can express.
inline void AskForLaunch(v1::PlanJobRequest* request) {
  for (int f = v1::LaunchFramework_MIN + 1; f <= v1::LaunchFramework_MAX; ++f)
    request->mutable_job()->add_launch_frameworks(static_cast<v1::LaunchFramework>(f));
}

inline std::vector<CostBomb> CostBombs() {
  std::vector<CostBomb> bombs;
  const auto add = [&bombs](const char* name, v1::PlanJobRequest request) {
    bombs.push_back({name, std::move(request)});
  };
  auto request = TextRequest("llama3.1-405b", 65536);
  AskForAll(&request);
  add("most_gpus", request);
  request = TextRequest("llama3.1-405b", kManyDivisors, 720);
  AskForAll(&request);
  add("most_divisors", request);
  request = DeepestRequest(false, 0, kManyDivisors, 720);
  AskForAll(&request);
  add("most_layers", request);
  request = DeepestRequest(true, 0, kManyDivisors, 720);
  AskForAll(&request);
  add("most_layers_with_encoder", request);
  request = DeepestRequest(false, 16, kManySmallDivisors, 960);
  AskForAll(&request, 100'000);
  add("most_experts", request);
  request = DeepestRequest(false, 2, kManySmallDivisors, 960);
  request.mutable_job()->mutable_training()->mutable_execution()->set_context_exchange(
      v1::CONTEXT_EXCHANGE_RING);
  AskForAll(&request, 100'000);
  add("most_experts_ring", request);
  request = DeepestRequest(false, 0, 512, 8);
  request.mutable_job()->mutable_constraints()->mutable_pipeline_parallel()->set_min(2);
  request.mutable_job()->mutable_training()->set_global_batch_samples(1'000'000);
  add("deep_pipelines_of_few_gpus", request);
  for (const auto schedule : {v1::PIPELINE_SCHEDULE_INTERLEAVED, v1::PIPELINE_SCHEDULE_GPIPE,
                              v1::PIPELINE_SCHEDULE_ZERO_BUBBLE, v1::PIPELINE_SCHEDULE_1F1B}) {
    request = DeepestRequest(true, 0, kManyDivisors, 720);
    request.mutable_job()->mutable_constraints()->set_schedule(schedule);
    AskForAll(&request);
    add(v1::PipelineSchedule_Name(schedule).c_str(), request);
  }
  for (const auto method :
       {v1::PARTITION_METHOD_BMP, v1::PARTITION_METHOD_PARAMETERS, v1::PARTITION_METHOD_PROFILE}) {
    request = DeepestRequest(true, 0, kManyDivisors, 720);
    request.mutable_job()->mutable_constraints()->set_partition_method(method);
    AskForAll(&request);
    add(v1::PartitionMethod_Name(method).c_str(), request);
  }
  for (const auto recompute : {v1::RECOMPUTE_POLICY_ADAPTIVE, v1::RECOMPUTE_POLICY_FORBIDDEN}) {
    request = DeepestRequest(true, 0, kManyDivisors, 720);
    request.mutable_job()->mutable_constraints()->set_recompute(recompute);
    AskForAll(&request);
    add(v1::RecomputePolicy_Name(recompute).c_str(), request);
  }
  // Deep and narrow, on few GPUs: most of the time goes into the settings.
  request = DeepestRequest(true, 0, 128, 8);
  auto* narrow = request.mutable_job()->mutable_model()->mutable_language_model();
  narrow->set_hidden_size(4096);
  narrow->set_attention_heads(32);
  narrow->set_kv_heads(8);
  narrow->set_head_size(128);
  narrow->set_ffn_size(14336);
  request.mutable_job()->mutable_constraints()->mutable_pipeline_parallel()->set_min(4);
  request.mutable_job()->mutable_training()->set_global_batch_samples(1024);
  AskForLaunch(&request);
  add("launch_of_a_deep_encoder", request);
  // One GPU for the deepest model: nothing fits, and every remedy is tried.
  request = DeepestRequest(true, 3840, 1, 1);
  AskForAll(&request, 100'000);
  add("misfit_of_one_gpu", request);
  request = DeepestRequest(true, 16, 960, 960);
  AskForAll(&request, 100'000);
  add("misfit_of_a_node", request);
  return bombs;
}

inline std::vector<CostBomb> DataBombs() {
  std::vector<CostBomb> bombs;
  const auto add = [&bombs](const char* name, v1::PlanJobRequest request) {
    bombs.push_back({name, std::move(request)});
  };
  auto request = TextRequest("llama3.1-8b", 64);
  FillHistogram(request.mutable_job()->mutable_dataset()->mutable_histogram(), false, 128, 1);
  add("most_bins", request);
  request = TextRequest("llama3.1-8b", 64);
  for (int i = 0; i < 15; ++i) {
    auto* part = request.mutable_job()->mutable_dataset()->add_parts();
    part->set_name("p" + std::to_string(i));
    FillHistogram(part->mutable_histogram(), false, 128 + i, 1 + i % 5);
  }
  add("most_parts", request);
  request.mutable_job()->mutable_model()->set_name("internvit-6b-448px-v1.5+qwen1.5-110b");
  request.mutable_job()->mutable_dataset()->clear_parts();
  for (int i = 0; i < 15; ++i) {
    auto* part = request.mutable_job()->mutable_dataset()->add_parts();
    part->set_name("p" + std::to_string(i));
    FillHistogram(part->mutable_histogram(), true, 128 + i * 97, 3);
  }
  add("most_parts_with_units", request);
  // Long context, with groups of every length.
  request = TextRequest("llama3.1-8b", 4096);
  FillHistogram(request.mutable_job()->mutable_dataset()->mutable_histogram(), false, 16500, 60);
  request.mutable_job()->mutable_training()->set_group_selection(v1::GROUP_SELECTION_EXACT);
  AskForAll(&request, 10'000);
  add("most_groups_few_divisors", request);
  for (int i = 0; i < 12; ++i)
    request.mutable_job()->mutable_training()->add_group_lengths(1'000'000 + i * 200'000);
  request.mutable_job()->mutable_cluster()->mutable_pools(0)->set_gpu_count(kManyDivisors);
  request.mutable_job()->mutable_cluster()->mutable_pools(0)->set_gpus_per_node(720);
  add("most_groups", request);
  request.mutable_job()->mutable_model()->clear_name();
  DescribeDeepest(request.mutable_job()->mutable_model(), false, 0);
  request.mutable_job()->mutable_training()->set_global_batch_samples(100);
  add("most_groups_most_layers", request);
  request = TextRequest("llama3.1-8b", 64);
  auto* histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
  for (int64_t tokens = 1; tokens <= 16'777'216; tokens *= 2) {
    histogram->add_llm_tokens(tokens);
    histogram->add_sample_count(40'000'000'000);
  }
  AskForAll(&request, 100);
  add("longest_samples", request);
  request = TextRequest("internvit-6b-448px-v1.5+qwen1.5-110b", 1024);
  histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
  for (int i = 0; i < 1000; ++i) {
    histogram->add_units(i * 60);
    histogram->add_llm_tokens(16'777'216 - i);
    histogram->add_sample_count(1'000'000);
  }
  AskForAll(&request, 100);
  add("most_units", request);
  request = TextRequest("llama3.1-8b", 8);
  histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
  histogram->add_llm_tokens(1);
  histogram->add_sample_count(1'000'000'000'000);
  request.mutable_job()->mutable_training()->set_token_cap(16'777'216);
  AskForAll(&request);
  add("shortest_samples_in_the_longest_packs", request);
  return bombs;
}

inline std::vector<CostBomb> OfferBombs() {
  std::vector<CostBomb> bombs;
  auto request = DeepestRequest(true, 0, 0, 720);
  request.mutable_job()->mutable_cluster()->clear_pools();
  for (int i = 0; i < 16; ++i) {
    auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
    pool->set_gpu_type(i % 2 == 0 ? "h100-sxm-80gb" : "a100-sxm-80gb");
    pool->set_gpus_per_node(720);
    for (int k = 0; k < 4; ++k) pool->add_gpu_counts(720 * (i + 16 * k + 1));
  }
  AskForAll(&request, 100'000);
  bombs.push_back({"most_offers", request});
  request.mutable_job()->mutable_model()->clear_encoders();
  request.mutable_job()->mutable_training()->set_global_batch_samples(100'000);
  for (int i = 0; i < 15; ++i) {
    auto* part = request.mutable_job()->mutable_dataset()->add_parts();
    part->set_name("p" + std::to_string(i));
    FillHistogram(part->mutable_histogram(), false, 128 + i, 1 + i % 5);
  }
  while (request.job().cluster().pools_size() > 1)
    request.mutable_job()->mutable_cluster()->mutable_pools()->RemoveLast();
  bombs.push_back({"most_bins_of_four_offers", request});
  request = DeepestRequest(false, 0, kManyDivisors, 720);
  request.mutable_job()->mutable_objective()->set_kind(v1::OBJECTIVE_KIND_FEWEST_GPUS);
  request.mutable_job()->mutable_objective()->set_deadline_seconds(1e10);
  AskForAll(&request);
  bombs.push_back({"fewest_gpus", request});
  return bombs;
}

// Returns ordinary jobs that take from very little time to seconds: catalogue models on several
// sizes of cluster.
inline std::vector<CostBomb> OrdinaryJobs() {
  std::vector<CostBomb> jobs;
  const auto add = [&jobs](const std::string& model, int gpus, bool sizes, int64_t batch) {
    v1::PlanJobRequest request = TextRequest(model, gpus);
    request.set_compare_sizes(sizes);
    request.mutable_job()->mutable_training()->set_global_batch_samples(batch);
    jobs.push_back({model + " on " + std::to_string(gpus) + (sizes ? " with sizes" : ""), request});
  };
  for (const char* model : {"llama3.1-8b", "internvit-6b-448px-v1.5+internlm2-20b"}) {
    for (const int gpus : {8, 64, 720, 4096}) add(model, gpus, false, 512);
    add(model, 64, true, 512);
  }
  for (const char* model : {"llama3-70b", "llama3.1-405b", "deepseek-v3-671b"}) {
    for (const int gpus : {64, 512, 16384}) add(model, gpus, false, 2048);
    add(model, 512, true, 2048);
  }
  return jobs;
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_PLANNING_COST_BOMBS_H_
