#include "tests/client/groups.h"

#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

void AddGroup(int64_t length, int degree, int ranks, v1::Plan* plan) {
  v1::PackingGroup* group = plan->add_packing_groups();
  group->set_length_tokens(length);
  group->set_sequence_parallel(degree);
  group->set_data_parallel(ranks);
  group->set_packs_per_rank(2);
  group->set_recomputed_layers(30);
  group->set_pack_count(1000 * ranks);
  group->set_step_count(500);
  group->set_share(.5);
  group->set_step_seconds(7.52);
  group->set_dist_ratio_attention(.0026);
  v1::GroupChoice* choice = plan->mutable_group_choice();
  choice->add_candidate_lengths(length);
  choice->add_published_lengths(length);
  choice->add_published_sequence_parallel(degree);
}

void AddWay(v1::BatchingMethod method, double gpu_days, v1::Plan* plan) {
  v1::BatchingBaseline* way = plan->mutable_group_choice()->add_baselines();
  way->set_method(method);
  way->set_fits(gpu_days > 0);
  way->set_gpu_days(gpu_days);
  way->set_pad_ratio(.011);
  way->set_dist_ratio_tokens(.014);
  way->set_dist_ratio_attention(.037);
  way->set_communication_ratio(.177);
}

}  // namespace

v1::Plan GroupedPlan() {
  v1::Plan plan = GoldenPlan();
  AddGroup(16384, 1, 32, &plan);
  AddGroup(131072, 8, 4, &plan);
  v1::GroupChoice* choice = plan.mutable_group_choice();
  choice->set_published_gpu_days(2);
  choice->set_exact_gpu_days(1.5);
  choice->add_exact_lengths(131072);
  choice->add_exact_sequence_parallel(32);
  choice->set_examined_set_count(16);
  choice->set_curriculum_steps(171);
  choice->set_communication_ratio(.177);
  choice->set_mean_rank_tokens(36625);
  AddWay(v1::BATCHING_METHOD_SORTED, 4, &plan);
  AddWay(v1::BATCHING_METHOD_FLEXSP, 0, &plan);
  AddWay(v1::BATCHING_METHOD_BALANCED_GROUPS, 2, &plan);
  return plan;
}

SmallPacking GroupedPacking() {
  SmallPacking small;
  small.samples.units.assign(7, 0);
  small.samples.tokens = {10, 6, 4, 8, 30, 20, 20};
  v1::PackDatasetStart& start = small.start;
  start.clear_data_parallel();
  start.clear_packs_per_rank();
  start.mutable_rule()->clear_unit_cap();
  start.mutable_rule()->set_token_cap(40);
  start.set_curriculum_steps(1);
  const int64_t lengths[] = {10, 40};
  for (int g = 0; g < 2; ++g) {
    v1::PackingGroup* group = start.add_groups();
    group->set_length_tokens(lengths[g]);
    group->set_sequence_parallel(g + 1);
    group->set_data_parallel(2);
    group->set_packs_per_rank(1);
  }
  // The first group has packs {0}, {1, 2} and {3}; the second {4} and {5, 6}.
  small.packed.offsets = {0, 1, 3, 4, 5, 7};
  small.packed.order = {0, 1, 3, 4, 2, -1};
  small.packed.step_group = {0, 1, 0};
  small.packed.loss_normalizer = {10, 35, 4};
  v1::PackDatasetSummary& summary = small.packed.summary;
  *summary.mutable_groups() = start.groups();
  for (int g = 0; g < 2; ++g) {
    summary.mutable_groups(g)->set_pack_count(3 - g);
    summary.mutable_groups(g)->set_step_count(2 - g);
    summary.mutable_groups(g)->set_mean_tokens(g == 0 ? 28.0 / 3 : 35);
  }
  summary.clear_oversize_sample_index();
  summary.mutable_rule()->clear_oversize_sample_count();
  summary.mutable_rule()->clear_pack_count_lower_bound();
  summary.mutable_rule()->clear_unit_cap();
  summary.mutable_rule()->set_token_cap(40);
  summary.mutable_rule()->set_order_window(16);
  summary.mutable_rule()->set_pack_count(5);
  summary.set_step_count(3);
  summary.set_holed_step_count(1);
  summary.set_curriculum_step_count(1);
  summary.set_communication_ratio(4.0 / 7);
  summary.set_mean_rank_tokens(22.5);
  return small;
}

}  // namespace evenkeel::cli
