// Random requests that are expensive for their kind. Genes drive the fields that cost time, often
// to an extreme. Many requests are refused. The others look for work of which neither admission nor
// a stop knows.
#ifndef EVENKEEL_TESTS_SERVER_PLANNING_HEAVY_JOBS_H_
#define EVENKEEL_TESTS_SERVER_PLANNING_HEAVY_JOBS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/base/random.h"
#include "tests/server/planning/cost_bombs.h"

namespace evenkeel::server {

// Genes: one number for each choice.
using Genes = std::array<uint64_t, 40>;

inline Genes RandomGenes(planner::Random& random) {
  Genes genes;
  for (uint64_t& gene : genes) gene = random.Next();
  return genes;
}

// Changes one to three genes.
inline Genes Mutated(Genes genes, planner::Random& random) {
  for (uint64_t i = 0; i <= random.Below(3); ++i) genes[random.Below(genes.size())] = random.Next();
  return genes;
}

class HeavyJob {
 public:
  explicit HeavyJob(const Genes& genes) : genes_(genes) {}

  v1::PlanJobRequest Request() {
    SetModel();
    SetCluster();
    SetDataset();
    SetTraining();
    SetConstraints();
    if (Below(3) == 0) request_.set_compare_sizes(true);
    if (Below(3) == 0) request_.set_max_alternatives(16);
    if (Below(4) == 0) AskForLaunch(&request_);
    return std::move(request_);
  }

 private:
  uint64_t Next() { return genes_[next_++ % genes_.size()]; }
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(Next() % static_cast<uint64_t>(bound));
  }
  // Draws log-uniformly by powers of two, up to 2^bits.
  int64_t Size(int64_t bits) {
    const uint64_t gene = Next();
    const int64_t power = int64_t{1} << (gene % static_cast<uint64_t>(bits + 1));
    return std::max<int64_t>(1,
                             power - static_cast<int64_t>((gene >> 32) % 3 == 0 ? power / 3 : 0));
  }
  v1::Job* job() { return request_.mutable_job(); }

  void SetModel() {
    constexpr const char* kNames[] = {
        "internvit-6b-448px-v1.5+qwen1.5-110b",  "llama3.1-8b",      "llama3.1-405b",
        "internvit-6b-448px-v1.5+internlm2-20b", "deepseek-v3-671b", "internvit-6b-224px+mpt-1b"};
    const int64_t choice = Below(10), deepness = Below(3);
    if (choice < 6) {
      job()->mutable_model()->set_name(kNames[choice]);
      return;
    }
    DescribeDeepest(job()->mutable_model(), choice != 6, choice == 8 ? 16 : 0);
    auto* language = job()->mutable_model()->mutable_language_model();
    if (deepness == 0) return;
    language->set_hidden_size(4096);
    language->set_attention_heads(32);
    language->set_kv_heads(8);
    language->set_head_size(128);
    language->set_ffn_size(14336);
    if (deepness == 1) language->set_layers(static_cast<int>(48 + Next() % 465));
  }

  void SetCluster() {
    constexpr int kGpus[] = {1, 8, 64, 128, 512, 720, 960, 4096, 5040, 16384, kManyDivisors, 65536};
    constexpr int kPerNode[] = {8, 8, 8, 1, 72, 720};
    auto* pool = job()->mutable_cluster()->add_pools();
    pool->set_gpu_type(Below(2) == 0 ? "h100-sxm-80gb" : "b200-sxm-180gb");
    pool->set_gpu_count(kGpus[Below(12)]);
    pool->set_gpus_per_node(kPerNode[Below(6)]);
    if (Below(10) > 0) return;
    const int gpus = pool->gpu_count();
    pool->clear_gpu_count();
    for (int i = 1; i <= 4; ++i) pool->add_gpu_counts(std::max(gpus / 8, 1) * i);
  }

  void SetDataset() {
    if (Below(8) == 0) return;
    const bool units =
        job()->model().name().find('+') != std::string::npos || job()->model().encoders_size() > 0;
    auto* histogram = job()->mutable_dataset()->mutable_histogram();
    const int64_t bins = std::min<int64_t>(Size(13), 6000);
    const int64_t most_units = units ? Size(16) - 1 : 0, per_unit = 1 + Below(300);
    const int64_t longest = Size(24), shortest = std::min(longest, Size(16));
    const int64_t counts = Size(30);
    const int64_t shape = Below(4);
    planner::Random random(Next());
    for (int64_t i = 0; i < bins; ++i) {
      const auto below = [&](int64_t bound) {
        return static_cast<int64_t>(random.Below(static_cast<uint64_t>(bound)));
      };
      const int64_t u = most_units > 0 && below(5) > 0 ? below(most_units + 1) : 0;
      int64_t tokens = shape == 0   ? shortest + below(longest - shortest + 1)
                       : shape == 1 ? shortest + i
                       : shape == 2 ? std::max<int64_t>(1, longest - i * 37)
                                    : int64_t{1} << below(24);
      tokens = std::min<int64_t>(16'777'216, std::max(tokens, u * per_unit));
      if (units) histogram->add_units(u);
      histogram->add_llm_tokens(tokens);
      histogram->add_sample_count(1 + below(counts));
    }
  }

  void SetTraining() {
    auto* training = job()->mutable_training();
    training->set_global_batch_samples(Size(23));
    if (Below(3) == 0) training->set_token_cap(Size(24));
    if (Below(4) == 0) training->set_unit_cap(Size(16));
    if (Below(3) == 0) training->set_packer(static_cast<v1::Packer>(Below(v1::Packer_MAX + 1)));
    if (Below(3) == 0) training->set_isf_iterations(static_cast<int>(Size(10)));
    if (Below(3) == 0) training->set_order_window(Size(20));
    if (Below(4) == 0)
      training->set_zero_stage(static_cast<v1::ZeroStage>(Below(v1::ZeroStage_MAX + 1)));
    if (Below(4) > 0) return;
    training->set_group_selection(Below(2) == 0 ? v1::GROUP_SELECTION_EXACT
                                                : v1::GROUP_SELECTION_PUBLISHED);
    if (Below(2) == 0) return;
    const int64_t first = Size(22) + 128;
    for (int64_t i = 0; i < 12; ++i)
      training->add_group_lengths((first + i * (first / 5 + 128)) / 128 * 128);
  }

  void SetConstraints() {
    auto* constraints = job()->mutable_constraints();
    if (Below(4) == 0)
      constraints->set_schedule(
          static_cast<v1::PipelineSchedule>(Below(v1::PipelineSchedule_MAX + 1)));
    if (Below(4) == 0)
      constraints->set_partition_method(
          static_cast<v1::PartitionMethod>(Below(v1::PartitionMethod_MAX + 1)));
    if (Below(4) == 0)
      constraints->set_recompute(
          static_cast<v1::RecomputePolicy>(Below(v1::RecomputePolicy_MAX + 1)));
    if (Below(4) == 0) constraints->mutable_pipeline_parallel()->set_min(2);
    if (Below(4) == 0) constraints->mutable_tensor_parallel()->set_max(1);
  }

  const Genes genes_;
  size_t next_ = 0;
  v1::PlanJobRequest request_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_PLANNING_HEAVY_JOBS_H_
