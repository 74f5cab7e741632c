#include "client/cli/from/run/recompute_of.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>

#include "client/cli/from/run/fsdp.h"

namespace evenkeel::cli {
namespace {

Recompute TorchtitanRecompute(const UserConfig& config) {
  Recompute recompute;
  if (config.lists_recomputed) {
    recompute.kind = Recompute::Kind::kListed;
    recompute.language_layers.insert(config.language_recomputed.begin(),
                                     config.language_recomputed.end());
    recompute.encoder_layers.insert(config.encoder_recomputed.begin(),
                                    config.encoder_recomputed.end());
    recompute.alternate_layers.insert(config.language_alternate.begin(),
                                      config.language_alternate.end());
    return recompute;
  }
  const std::string mode = config.Text(Field::kRecompute, "selective");
  if (mode == "full") return {.kind = Recompute::Kind::kEvery};
  if (mode == "none") return {};
  if (mode != "selective") config.Refuse(Field::kRecompute, "not yet: none, selective or full");
  const std::string option = config.Text(Field::kRecomputeMethod, "2");
  int64_t nth = 0;
  if (option == "op") return {.kind = Recompute::Kind::kAlternate};
  if (!absl::SimpleAtoi(option, &nth) || nth < 1)
    config.Refuse(Field::kRecomputeMethod, "must be op or a number of layers");
  return {.kind = Recompute::Kind::kListed, .every_nth = nth};
}

// "[1, 26, 3]" is 3 layers of a chunk for 26 micro-batches.
std::vector<int64_t> PerStage(const UserConfig& config) {
  std::vector<int64_t> layers;
  for (const std::string& value : config.List(Field::kRecomputePerStage)) {
    const std::vector<std::string> parts =
        absl::StrSplit(value, absl::ByAnyChar("[], "), absl::SkipEmpty());
    int64_t count = 0;
    if (parts.size() != 3 || !absl::SimpleAtoi(parts.back(), &count) || count < 0)
      config.Refuse(Field::kRecomputePerStage,
                    "not yet: one entry [1, micro-batches, layers] for each chunk");
    layers.push_back(count);
  }
  return layers;
}

Recompute TrainerRecompute(const UserConfig& config) {
  const bool fsdp = !FsdpOptions(config).empty();
  // Since 0.22, TRL turns it on.
  const bool own = config.On(Field::kRecompute, config.trl);
  const bool wrapped = fsdp && config.On(Field::kFsdpRecompute);
  if (own && wrapped && config.Has(Field::kRecompute))
    config.Refuse(Field::kRecompute,
                  "the Trainer refuses this with activation_checkpointing in fsdp_config");
  if (own && wrapped)
    config.Refuse(Field::kFsdpRecompute,
                  "the Trainer refuses this with gradient_checkpointing, which is TRL's default: "
                  "set that to false");
  if (!own && !wrapped) return {};
  const int64_t nth = config.Int(Field::kRecomputeEvery, 1, 1, 512);
  // Every n-th block of the whole model (_set_gradient_checkpointing() of modeling_utils.py).
  if (wrapped || nth == 1) return {.kind = Recompute::Kind::kEvery, .encoder = true};
  return {.kind = Recompute::Kind::kListed, .encoder = true, .every_nth = nth};
}

}  // namespace

Recompute RecomputeOf(const UserConfig& config) {
  if (config.format == ConfigFormat::kHuggingFace) return TrainerRecompute(config);
  if (config.format == ConfigFormat::kTorchtitan) return TorchtitanRecompute(config);
  if (config.lists_recomputed && config.parts.empty()) return TorchtitanRecompute(config);
  Recompute recompute;
  recompute.encoder = config.On(Field::kRecomputeVision);
  std::string granularity = config.Text(Field::kRecompute, "");
  if (granularity.empty() && config.On(Field::kRecomputeActivations)) granularity = "selective";
  if (granularity.empty() || granularity == "None") return recompute;
  if (granularity == "selective") {
    recompute.kind = Recompute::Kind::kModules;
    // NVIDIA's recipes have them in one word: "moe_act layernorm".
    for (const std::string& words : config.List(Field::kRecomputeModules))
      for (const absl::string_view word :
           absl::StrSplit(words, absl::ByAnyChar(" ,"), absl::SkipEmpty()))
        recompute.modules.emplace_back(word);
    if (recompute.modules.empty()) recompute.modules = {"core_attn"};
    return recompute;
  }
  if (granularity != "full") config.Refuse(Field::kRecompute, "must be full or selective");
  if (config.Has(Field::kRecomputePerStage)) {
    recompute.kind = Recompute::Kind::kBlock;
    recompute.block = PerStage(config);
  } else if (config.Text(Field::kRecomputeMethod, "uniform") == "block") {
    recompute.kind = Recompute::Kind::kBlock;
    recompute.block = {config.Int(Field::kRecomputeLayers, 1, 0, 512)};
  } else {
    // With more, the inputs of every N-th layer are held, and N layers at a time.
    if (config.Int(Field::kRecomputeLayers, 1, 1, 512) > 1)
      config.Refuse(Field::kRecomputeLayers,
                    "not yet: accepted with --recompute-method uniform is 1, with block any");
    recompute.kind = Recompute::Kind::kEvery;
  }
  return recompute;
}

}  // namespace evenkeel::cli
