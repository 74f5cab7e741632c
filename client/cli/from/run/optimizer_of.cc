#include "client/cli/from/run/optimizer_of.h"

#include <fmt/format.h>

#include <absl/strings/match.h>
#include <string>

#include "client/cli/from/settings/choice.h"

namespace evenkeel::cli {
namespace {

constexpr Choice<v1::Optimizer> kOptimizers[] = {
    {"adam", v1::OPTIMIZER_ADAM},      {"adamw", v1::OPTIMIZER_ADAM},
    {"fusedadam", v1::OPTIMIZER_ADAM}, {"sgd", v1::OPTIMIZER_SGD},
    {"lion", v1::OPTIMIZER_LION},      {"muon", v1::OPTIMIZER_MUON},
    {"dist_muon", v1::OPTIMIZER_MUON}, {"adafactor", v1::OPTIMIZER_ADAFACTOR}};

// OptimizerNames of transformers/training_args.py. Pages of "paged" ones stay on the GPU here.
constexpr Choice<v1::Optimizer> kTrainerOptimizers[] = {
    {"adamw_torch", v1::OPTIMIZER_ADAM},
    {"adamw_torch_fused", v1::OPTIMIZER_ADAM},
    {"adamw_hf", v1::OPTIMIZER_ADAM},
    {"adamw_apex_fused", v1::OPTIMIZER_ADAM},
    {"paged_adamw_32bit", v1::OPTIMIZER_ADAM},
    {"adamw_bnb_8bit", v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {"adamw_8bit", v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {"adamw_torch_8bit", v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {"adamw_torch_4bit", v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {"sgd", v1::OPTIMIZER_SGD},
    {"muon", v1::OPTIMIZER_MUON},
    {"paged_adamw_8bit", v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {"adafactor", v1::OPTIMIZER_ADAFACTOR},
    {"lion_32bit", v1::OPTIMIZER_LION},
    {"paged_lion_32bit", v1::OPTIMIZER_LION}};

// Returns whether the Trainer gets weights that were loaded in 16 bits. "auto" is the type of the
// model's config.json, which is bfloat16 for most models.
bool LoadsSixteenBits(const UserConfig& config) {
  const std::string type = config.Text(Field::kLoadedType);
  return type == "auto" || absl::EndsWith(type, "float16");
}

// Sets the optimizer that holds no copy of the weights in fp32.
void HoldSixteenBits(UserRun* run) {
  v1::Training* training = run->job.mutable_training();
  if (training->optimizer() == v1::OPTIMIZER_ADAM) {
    training->set_optimizer(v1::OPTIMIZER_ADAM_16BIT);
  } else if (training->optimizer() == v1::OPTIMIZER_ADAM_8BIT_MOMENTS) {
    training->set_optimizer(v1::OPTIMIZER_ADAM_8BIT);
  } else {
    run->assumed.emplace_back(
        "optimizer: with a copy of the weights in fp32, which this run has not: predicted memory "
        "is too high");
    return;
  }
  run->assumed.emplace_back("weights: in 16 bits, without a copy in fp32");
}

}  // namespace

// DeepSpeed's bf16_master_weights_and_grads, with or without its bf16_optimizer_states
// (deepspeed/runtime/zero/stage_1_and_2.py, stage3.py).
void HoldDeepSpeeds16Bits(const UserConfig& config, UserRun* run) {
  if (!config.On(Field::kMaster16Bit)) return;
  if (!config.On(Field::kStates16Bit))
    config.Refuse(Field::kMaster16Bit,
                  "not yet without bf16_optimizer_states: weights and gradients in 16 bits with "
                  "states in fp32");
  HoldSixteenBits(run);
  run->job.mutable_training()->set_gradient_precision(v1::GRADIENT_PRECISION_16BIT);
}

void SetOptimizer(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  v1::Training* training = run->job.mutable_training();
  if (!flags.optimizer.empty()) return;
  // An optimizer of DeepSpeed's configuration comes before that of Hugging Face's arguments.
  const bool named = config.format == ConfigFormat::kHuggingFace && !config.engine_optimizer;
  if (named) {
    // adafactor, of releases before 5, comes before optim.
    training->set_optimizer(
        config.On(Field::kAdafactor)
            ? v1::OPTIMIZER_ADAFACTOR
            : Chosen(config, Field::kOptimizer, "adamw_torch", kTrainerOptimizers));
    if (!config.Has(Field::kOptimizer) && !config.On(Field::kAdafactor) && !config.uses_deepspeed)
      run->assumed.emplace_back(
          "optimizer: AdamW, fused, the default from PyTorch 2.8 on; \"adamw_torch\", the one "
          "before, holds more");
    if (config.sixteen_bit_weights && !run->adapters) HoldSixteenBits(run);
    if (!run->adapters) HoldDeepSpeeds16Bits(config, run);
    if (training->optimizer() == v1::OPTIMIZER_SGD)
      run->assumed.emplace_back("optimizer: SGD with momentum, of 4 bytes for each parameter");
    if (absl::EndsWith(config.Text(Field::kOptimizer), "_4bit"))
      run->assumed.push_back("optimizer: moments in 8 bits, not in its 4");
    if (absl::StartsWith(config.Text(Field::kOptimizer), "paged_"))
      run->assumed.push_back("optimizer: its pages stay on the GPU");
    return;
  }
  v1::Optimizer optimizer = Chosen(config, Field::kOptimizer, "adam", kOptimizers);
  if (optimizer == v1::OPTIMIZER_ADAM && config.On(Field::kPreciseOptimizer)) {
    const std::string moments = config.Text(Field::kMomentType, "fp32");
    if (moments == "bf16" || moments == "fp16") optimizer = v1::OPTIMIZER_ADAM_16BIT_MOMENTS;
    if (moments == "fp8") optimizer = v1::OPTIMIZER_ADAM_8BIT_MOMENTS;
    const bool remainders = !config.On(Field::kNoWeightRemainders);
    if (!remainders || training->precision() != v1::PRECISION_FP16)
      training->mutable_execution()->set_stores_weight_remainders(remainders);
    if (const std::string second = config.Text(Field::kSecondMomentType, "fp32"); second != moments)
      run->assumed.push_back(fmt::format(
          "optimizer: both moments in {}, though exp-avg-sq-dtype is {}", moments, second));
  }
  training->set_optimizer(optimizer);
  HoldDeepSpeeds16Bits(config, run);
}

void SetLoadedType(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const bool hugging_face = config.format == ConfigFormat::kHuggingFace && !config.engine_optimizer;
  if (!hugging_face || !LoadsSixteenBits(config) || run->adapters || !flags.optimizer.empty() ||
      config.sixteen_bit_weights)
    return;
  if (config.uses_deepspeed || run->fsdp) {
    run->assumed.push_back("weights: loaded in 16 bits, with a copy in fp32 for the optimizer");
    return;
  }
  HoldSixteenBits(run);
  // PyTorch's gradients have the type of the weights.
  v1::Training* training = run->job.mutable_training();
  if (training->gradient_precision() == v1::GRADIENT_PRECISION_UNSPECIFIED)
    training->set_gradient_precision(v1::GRADIENT_PRECISION_16BIT);
}

// Sets what AdamW of PyTorch holds that is not fused: the square root of every second moment, in
// the type of the weights (_multi_tensor_adamw of torch/optim/adam.py). DeepSpeed has an AdamW of
// its own.
void SetUnfusedAdam(const UserConfig& config, UserRun* run) {
  const v1::Optimizer optimizer = run->job.training().optimizer();
  const bool hugging_face = config.format == ConfigFormat::kHuggingFace &&
                            config.Text(Field::kOptimizer) == "adamw_torch";
  const bool torchtitan = config.format == ConfigFormat::kTorchtitan &&
                          config.Text(Field::kOptimizerKernel) == "foreach";
  if ((!hugging_face && !torchtitan) || config.uses_deepspeed ||
      (optimizer != v1::OPTIMIZER_ADAM && optimizer != v1::OPTIMIZER_ADAM_16BIT))
    return;
  run->unfused_adam = true;
  run->job.mutable_training()->mutable_execution()->set_update_parameter_bytes(
      optimizer == v1::OPTIMIZER_ADAM ? 4 : 2);
}

}  // namespace evenkeel::cli
