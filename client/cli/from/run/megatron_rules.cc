#include "client/cli/from/run/megatron_rules.h"

namespace evenkeel::cli {

void CheckMegatronRules(const UserConfig& config, const UserRun& run) {
  if (!HasMegatronArguments(config.format)) return;
  // __post_init__() of megatron/core/transformer/transformer_config.py. FlagScale has a setting
  // that stands for it.
  if (config.Text(Field::kRecompute, "") == "full" && !config.Has(Field::kRecomputeMethod) &&
      !config.Has(Field::kRecomputePerStage))
    config.Refuse(Field::kRecompute,
                  "needs recompute-method, without which the trainer refuses it; accepted there: "
                  "uniform, block");
  if (config.On(Field::kDeepEp) && config.Text(Field::kDispatcher, "allgather") != "flex")
    config.Refuse(Field::kDeepEp,
                  "needs moe-token-dispatcher-type flex, without which the trainer refuses it");
  // forward() of megatron/core/transformer/moe/moe_layer.py, in training.
  if (config.Has(Field::kExperts) && run.degrees.tensor() > 1 &&
      !config.On(Field::kSequenceParallel))
    config.Refuse(Field::kTensor,
                  "needs sequence-parallel, without which the trainer refuses experts with tensor "
                  "parallelism");
  // validate_args() of megatron/training/arguments.py.
  if (config.Int(Field::kTrainSteps, 0, 0, 1000000000) > 0 && config.Has(Field::kTrainSamples))
    config.Refuse(Field::kTrainSamples,
                  "must not be set together with train-iters: the trainer refuses both");
}

}  // namespace evenkeel::cli
