// Settings of a training run as a trainer's configuration gives them, and what they say.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SETTINGS_SETTING_H_
#define EVENKEEL_CLIENT_CLI_FROM_SETTINGS_SETTING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace evenkeel::cli {

// The program that the configuration is for.
enum class ConfigFormat {
  kMegatron,
  kFlagScale,
  kMegatronBridge,
  kDeepSpeed,
  kTorchtitan,
  kHuggingFace
};

// Returns whether the configuration has Megatron-LM's arguments, or fields of their names.
constexpr bool HasMegatronArguments(ConfigFormat format) {
  return format == ConfigFormat::kMegatron || format == ConfigFormat::kFlagScale ||
         format == ConfigFormat::kMegatronBridge;
}

// One key with its values, as written. A key without values is a switch that is on.
struct Setting {
  std::string key;  // "--micro-batch-size", "parallelism.tensor_parallel_degree"
  std::vector<std::string> values;
  std::string where;  // "run.sh:12", or only the file
  // Key and values in the file, if they were translated to these.
  std::string written = "";
  std::vector<std::string> written_values = {};

  // Returns the setting as the file has it.
  Setting AsWritten() const {
    return written.empty() ? *this : Setting{written, written_values, where};
  }
};

// Returns the words between commas, without the spaces around them.
std::vector<std::string> WordsOf(const std::string& list);

// The meaning of a setting, independent of what its trainer calls it.
enum class Field {
  // Degrees.
  kNodes,
  kGpusPerNode,
  kTensor,
  kPipeline,
  kContext,
  kExpert,
  kExpertTensor,
  kData,
  kDataReplicas,  // groups of data-parallel ranks that each hold all states
  kVirtualStages,
  kMicroBatchGroup,
  kLayersPerVirtualStage,
  kLayout,
  kFirstStageLayers,
  kEmbeddingLayers,  // that the embedding counts as, where stages are cut
  kHeadLayers,
  kLastStageLayers,
  kEmbeddingCounts,
  kLossCounts,
  kSchedule,
  // Batches.
  kMicroBatch,
  kPipelineMicroBatch,
  kLocalBatch,  // samples of a rank and step that a pipeline cuts
  kGlobalBatch,
  kAccumulation,
  kSeqLength,
  kDecoderSeqLength,
  kTrainSamples,
  kTrainSteps,
  // Model.
  kModelName,
  kModelFlavor,
  kHubModel,  // of Megatron-Bridge: where its weights come from
  kLayers,
  kHidden,
  kFfn,
  kFfnMultiple,
  kFfnMultiplier,
  kHeads,
  kGroupedQueries,
  kKvHeads,
  kHeadSize,
  kGatedMlp,
  kActivation,
  kNorm,
  kUntied,
  kQkNorm,
  kVocabulary,
  kPaddedVocabulary,
  kVocabularyMultiple,
  kTokenizer,
  kTokenizerModel,
  kLatentAttention,
  kQLoraRank,
  kKvLoraRank,
  kQkNopeSize,
  kQkRopeSize,
  kValueSize,
  kExperts,
  kExpertsPerToken,
  kExpertFfn,
  kSharedFfn,
  kExpertLayers,
  kPredictedTokens,
  // Memory.
  kRecompute,
  kRecomputeMethod,
  kRecomputeLayers,
  kRecomputeModules,
  kRecomputeActivations,
  kRecomputeVision,
  kRecomputePerStage,
  kZeroStage,
  kShardsOptimizer,
  kOptimizerInstances,
  kMegatronFsdp,
  kFsdpStrategy,
  kTorchFsdp,
  kReshard,
  // Numbers.
  kBf16,
  kFp16,
  kFp8Format,
  kFp8Recipe,
  kFp8Weights,
  kFp4Format,
  kConverters,
  kGradient16Bit,
  kGradientFp32,
  kGradientType,
  kOptimizer,
  kPreciseOptimizer,
  kOptimizerKernel,  // "fused", "foreach" or "for-loop"
  kMaster16Bit,      // DeepSpeed: no copy of the weights in fp32
  kStates16Bit,
  kMomentType,
  kSecondMomentType,
  kWeightType,
  kLoadedType,  // Hugging Face: of the weights as they are loaded
  kCompile,
  kCompiledParts,
  // Execution.
  kSequenceParallel,
  kAttentionBackend,
  kFlashAttention,
  kTransformerImpl,
  kContextExchange,
  kAttentionDropout,
  kHiddenDropout,
  kLossFusion,
  kLossFusionImpl,
  kOverlapGradients,
  kOverlapWeights,
  kOverlapTensor,
  kOverlapExperts,
  kDispatcher,
  kFlexDispatcher,
  kDeepEp,
  kOverlapSharedExpert,
  kKeepsLayers16Bit,
  kStartLayers16Bit,
  kEndLayers16Bit,
  kNoGradientFusion,
  kNoActivationFusion,
  kNoRotaryFusion,
  kNoWeightRemainders,
  kDeterministic,
  kGroupedExperts,
  kCapacityFactor,
  kForcedBalance,
  kCudaGraph,
  kBucketValues,
  kGatherBucketValues,
  kOffloadsOptimizer,
  kOffloadShare,
  kOverlapOffload,
  kOffloadedLayers,
  kOffloadsByModule,
  kOffloadModules,
  kOffloadsWeights,
  kFusedStep,
  // Hugging Face Trainer, TRL and PEFT.
  kProcesses,
  kShardRanks,  // axolotl's: all GPUs, as the other degrees are 1
  kMixedPrecision,
  kGroupByLength,
  kSampling,
  kFsdp,
  kFsdpVersion,
  kFsdpWrap,
  kFsdpOffload,
  kSyncEachBatch,
  kFsdpRecompute,
  kRecomputeEvery,
  kReentrant,
  kEarlyStop,  // torchtitan's
  kAdafactor,
  kLiger,
  kLigerLoss,
  kLigerActivation,
  kLigerRotary,
  kLigerRmsNorm,
  kLossType,  // TRL's
  kCutsLoss,  // Apple's cut cross entropy
  kEpochs,
  kMaxLength,  // longer samples are cut
  kMaxSeqLength,
  kModelMaxLength,
  kBlockSize,
  kPadMultiple,
  kPacking,
  kPackingStrategy,
  kPaddingFree,
  kAdapterType,
  kLoraRank,
  kLoraDropout,
  kLoraTargets,
  kLoraSaved,
  kUsesPeft,
  kOffloadsInputs,
  kLoads4Bit,
  kLoads8Bit,
  kQuantType,
  kNestedQuant,
  kBits,
  // Programs around the Trainer, and models with encoders.
  kProgramLora,
  kProgramQLora,
  kEncoderLora,
  kAdaptsEncoder,      // of LLaMA-Factory and ms-swift, next to adapters
  kFreezesAdaptedLlm,  // likewise
  kVisionTower,        // LLaVA's, which is frozen unless told to train
  kVisionModel,
  kLayerPattern,  // of models whose layers are of several kinds
  kFreezesLlm,
  kFreezesEncoder,
  kFreezesProjector,
  kTrainsLlm,
  kTrainsEncoder,
  kTrainsProjector,
  kTrainsProjectorAlone,
  kTrainedParts,
};

struct ConfigFormatRecord {
  const char* name;   // of --framework
  const char* title;  // for people
  ConfigFormat format;
  // The samples that a rank takes at once, and where nothing says how many: their number, and what
  // people are told.
  Field micro_batch = Field::kMicroBatch;
  int64_t usual_micro_batch = 1;
  const char* usual_micro_batch_note = nullptr;
  int64_t usual_seq_length = 0;  // 0: the data decide
  // `micro_batch` is the batch of a data-parallel rank, which a pipeline splits.
  bool rank_has_batch = false;
  bool degrees_are_gpus = false;  // there are as many GPUs as the degrees take, unless one is open
};
inline constexpr ConfigFormatRecord kConfigFormats[] = {
    {"megatron", "Megatron-LM", ConfigFormat::kMegatron},
    {"flagscale", "FlagScale", ConfigFormat::kFlagScale},
    {"megatron-bridge", "Megatron-Bridge", ConfigFormat::kMegatronBridge},
    {"deepspeed", "DeepSpeed", ConfigFormat::kDeepSpeed},
    // The defaults of torchtitan/config/job_config.py, and the GPUs of
    // torchtitan/distributed/parallel_dims.py.
    {.name = "torchtitan",
     .title = "torchtitan",
     .format = ConfigFormat::kTorchtitan,
     .micro_batch = Field::kLocalBatch,
     .usual_micro_batch = 8,
     .usual_micro_batch_note = "local_batch_size: 8, torchtitan's default",
     .usual_seq_length = 2048,
     .rank_has_batch = true,
     .degrees_are_gpus = true},
    {.name = "huggingface",
     .title = "Hugging Face Trainer",
     .format = ConfigFormat::kHuggingFace,
     .usual_micro_batch = 8,
     .usual_micro_batch_note =
         "micro-batches: of 8 samples, the default of per_device_train_batch_size"}};

const ConfigFormatRecord& RecordOf(ConfigFormat format);
// Returns nothing for a name that no record has.
std::optional<ConfigFormat> FormatNamed(const std::string& name);

// A file of a run of Hugging Face Trainer.
enum class RunFile { kArguments, kAdapter, kLaunch };  // kLaunch: of accelerate

// How the settings are written, for advice.
enum class Syntax {
  kJson,
  kYaml,
  kScript,
  kMegatronYaml,  // fields of Megatron-LM's names: "micro_batch_size: 2"
  kOptionYaml     // its options as keys: "--micro-batch-size: 2"
};

// Returns what a change says to write, with the Trainer's own arguments as the user writes them.
std::string InSyntax(Syntax syntax, std::string argument);

struct FrontEnd;  // front_ends.h

// What was found in a configuration.
struct UserConfig {
  ConfigFormat format = ConfigFormat::kMegatron;
  std::vector<Setting> used;          // as written, in order, for people
  std::vector<std::string> meanings;  // of `used`: the field of the contract that it sets
  std::map<Field, Setting> fields;    // the last setting of each
  std::vector<std::pair<Setting, std::string>> not_predicted;  // known, with what that means
  std::vector<Setting> unknown;
  int irrelevant = 0;              // known to change neither memory nor time
  std::vector<std::string> notes;  // about the file as a whole
  // Only from Python files that `launch` wrote for DeepSpeed or torchtitan: the bounds of stages in
  // the list of all layers, and the layers that recompute. -1 in `recomputed` stands for none.
  std::vector<int64_t> parts, recomputed, language_recomputed, encoder_recomputed,
      language_alternate;
  std::vector<int64_t> chunk_layers;  // language layers of each chunk, of a list of modules
  bool lists_recomputed = false;
  // Hugging Face Trainer only: it runs DeepSpeed, has DeepSpeed's own configuration, and that names
  // the optimizer.
  bool uses_deepspeed = false, engine_file = false, engine_optimizer = false;
  Syntax syntax = Syntax::kJson;
  std::set<Field> said;                  // numbers that the arguments themselves give
  bool sixteen_bit_weights = false;      // train without a copy in fp32
  bool text_only = false;                // the data, though the model may have an encoder
  bool whole_logits = false;             // torchtitan: the loss is not computed in chunks
  bool trl = false;                      // the arguments are TRL's, which have other defaults
  bool keeps_lengths = false;            // max_length is null
  bool drops_samples = false;            // that are longer than max_length
  const FrontEnd* front_end = nullptr;   // of the Trainer, whose settings were translated
  std::map<RunFile, std::string> files;  // what was read, by name
  // Settings of accelerate, by the keys of its file. If they are options of a command that names no
  // such file, `without_launch` is what the rest says: a file may still come.
  std::vector<Setting> launch;
  std::shared_ptr<const UserConfig> without_launch;
  // If the file changes a configuration that is not read, what people are told of the rest.
  std::string left_out;

  bool Has(Field field) const { return fields.count(field) > 0; }
  // If the value is not of the type that is asked for, these throw a CommandError(kBadInput) that
  // names place and key.
  bool On(Field field, bool fallback = false) const;
  int64_t Int(Field field, int64_t fallback, int64_t min, int64_t max) const;
  double Real(Field field, double fallback) const;
  std::string Text(Field field, const std::string& fallback = "") const;
  std::vector<std::string> List(Field field) const;
  [[noreturn]] void Refuse(Field field, const std::string& why) const;
};

// Returns "run.sh:12: --key value".
std::string Describe(const Setting& setting);

// Returns `refusal`, which refuses a field of a request ("job.training.precision: ..."), followed
// by the setting that set the field, if the configuration has one.
std::string WithItsSetting(const UserConfig& config, std::string refusal);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SETTINGS_SETTING_H_
