#include "client/cli/from/advise/evaluate_run.h"

#include <cmath>

#include "client/cli/from/run/request_of.h"

namespace evenkeel::cli {
namespace {

constexpr int kMostAdjustments = 4;

void KeepCaps(const v1::BatchRule& rule, UserRun* run) {
  if (run->fixed_lengths || run->padded) return;
  const v1::Training& training = run->job.training();
  if (training.unit_cap() == 0) run->derived_unit_cap = rule.unit_cap();
  if (training.token_cap() == 0 && run->seq_length == 0) run->derived_token_cap = rule.token_cap();
}

}  // namespace

double SampleSeconds(const v1::Plan& evaluated) {
  const v1::Predictions& p = evaluated.predictions();
  return p.samples_per_step() > 0 ? p.step().total_seconds() / p.samples_per_step() : 0;
}

v1::EvaluatePlanResponse EvaluateRun(UserRun* run, const ModelLayers& layers, bool evaluate_only,
                                     Backend* backend) {
  const auto evaluate = [&](bool only) {
    const auto response = backend->EvaluatePlan(RequestOf(*run, layers, only));
    KeepCaps(response.evaluated().batch_rule(), run);
    return response;
  };
  if (run->fixed_lengths || run->padded || run->sequences == 0) return evaluate(evaluate_only);
  // Where the configuration does not say how long a pack is, packs are those of our own plan.
  if (run->seq_length == 0 && run->derived_token_cap == 0) evaluate(/*only=*/false);
  // Packs hold several samples: as many as the evaluations show.
  const int64_t packs = run->sequences / run->micro_batch;
  for (int i = 0; i < kMostAdjustments; ++i) {
    const auto response = evaluate(/*only=*/true);
    const v1::Plan& now = response.evaluated();
    const int64_t has = int64_t{now.predictions().micro_batches()} * run->degrees.data();
    const int64_t samples =
        std::llround(static_cast<double>(packs) * now.batch_rule().samples_per_pack());
    if (has == packs && evaluate_only) return response;
    if (samples <= 0) break;
    run->job.mutable_training()->set_global_batch_samples(samples);
    if (has == packs) break;  // our own plan is for these samples, too
  }
  return evaluate(evaluate_only);
}

}  // namespace evenkeel::cli
