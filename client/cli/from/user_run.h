// The run that a configuration asks for, as a job and a plan of the contract.
#ifndef EVENKEEL_CLIENT_CLI_FROM_USER_RUN_H_
#define EVENKEEL_CLIENT_CLI_FROM_USER_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/cli/from/setting.h"
#include "client/cli/job/job_flags.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// What runs forward again in the backward pass.
struct Recompute {
  enum class Kind {
    kNone,
    kModules,    // parts of every language layer
    kAlternate,  // alternate products of every language layer: torchtitan's "op"
    kBlock,      // the first language layers of each chunk
    kEvery,      // every layer of the language model
    kListed      // layers by index
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> modules;                   // Megatron-Core's names
  std::vector<int64_t> block;                         // one number, or one for each stage
  bool encoder = false;                               // every encoder layer too
  std::set<int64_t> language_layers, encoder_layers;  // kListed
  std::set<int64_t> alternate_layers;                 // kListed: alternate products of these
  // kListed without lists: every n-th language layer of a stage, or with `encoder` every n-th layer
  // of the whole model. 0 for lists.
  int64_t every_nth = 0;
};

// How torchtitan cuts a model into stages, where `on`.
struct StageCut {
  bool on = false;
  int64_t each = 0;                 // layers of a stage; 0: as many as the schedule has
  int64_t embedding = 1, head = 1;  // layers that they count as
};

struct UserRun {
  v1::Job job;  // with model, data, GPUs and the trainer's habits
  v1::Parallelism degrees;
  v1::PipelineSchedule schedule = v1::PIPELINE_SCHEDULE_UNSPECIFIED;
  std::vector<int64_t> chunks;  // language layers of each chunk in the model's order; empty: even
  std::vector<int64_t> parts;   // bounds of stages in the list of all layers, in place of chunks
  StageCut stage_cut;
  // Settings of Megatron-LM, as written, that cut the model or number its virtual stages. They hold
  // only for the degrees of the configuration.
  std::vector<std::string> cut_settings;
  std::string virtual_stage_setting;
  std::set<int64_t> recomputed_parts;  // layers of that list that recompute
  Recompute recompute;
  int64_t layers = 0;       // that the configuration says; 0 if it does not
  int64_t micro_batch = 1;  // sequences
  int64_t seq_length = 0;   // 0: the job's packs decide
  // Caps of packs that neither the configuration nor a flag gives. They are taken from the first
  // evaluation, so that all changes are evaluated over the same packs; 0 before it.
  int64_t derived_unit_cap = 0, derived_token_cap = 0;
  int64_t sequences = 0;             // of a step, over all ranks; 0: the job's
  bool batch_follows_ranks = false;  // a data-parallel rank has a number of its own
  bool fixed_lengths = false;        // every sample is a sequence
  // If nothing says what the data is: the index of the line in `assumed` that says what is taken in
  // its place.
  std::optional<size_t> invented_data;
  std::string length_limit;       // the setting that limits samples, which only text has
  bool knows_samples = false;     // how many the data has
  int64_t steps = 0;              // after which training ends; 0: it does with the data
  bool padded = false;            // micro-batches are samples that are padded, not packed
  bool fsdp = false;              // of Hugging Face Trainer
  int64_t fsdp_version = 0;       // 1 or 2; 0: nothing says which
  bool syncs_each_batch = false;  // FSDP reduces gradients in each micro-batch
  bool unfused_adam = false;      // AdamW of PyTorch, of Hugging Face Trainer
  // Names in the configuration, for advice. The first is empty unless accelerate says what shards,
  // and the second unless a key of fsdp_config names FSDP's strategy.
  std::string accelerate_key, strategy_key, deterministic_key;
  bool enables_deepep = false;    // by --moe-enable-deepep
  bool adapters = false;          // train with frozen weights
  bool four_bit_weights = false;  // the model's name says so
  bool offloads_inputs = false;   // of recomputed layers, to host memory
  // Encoders: the setting that shows that the model has one, the front end that freezes encoders
  // unless told otherwise, and the components that are frozen.
  std::string encoder_setting;
  std::string freezes_encoders;  // the front end
  std::vector<std::string> frozen;
  // The settings by which encoders have adapters too, and the language model has none.
  std::string encoder_adapters, unadapted_llm;
  bool trains_encoder = false;       // a setting says so
  bool text_only = false;            // the data, though the model may have an encoder
  bool trains_head = false;          // though the rest of the language model is frozen
  bool linear_layers_alone = false;  // have torchtitan's low precision: experts do not
  std::vector<std::string> assumed;  // for people
};

// Layers of a model, front to back.
using ModelLayers = std::vector<v1::LayerKind>;

// Returns the run of the configuration. Flags take precedence over the configuration, and the
// configuration over the job file. Throws CommandError(kBadInput) that names the argument, or the
// flag that is missing.
UserRun RunOf(const UserConfig& config, const JobFlags& flags);

// Refuses pairs of settings that Megatron-LM refuses. Does nothing for other trainers.
void CheckMegatronRules(const UserConfig& config, const UserRun& run);

// Sets the model of arguments that describe one. Returns false if they describe none.
bool SetModelOf(const UserConfig& config, v1::Job* job, std::vector<std::string>* assumed);

// Returns the tokens to which Hugging Face's arguments cut samples, 0 if they do not.
int64_t LongestSample(const UserConfig& config);

// Sets how Hugging Face Trainer makes micro-batches and how often it goes through the data. Does
// nothing for other trainers.
void SetPadding(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Cuts the data as the run does. Where there are none, sets samples of one length.
void SetRunData(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Widths of a language model; 0 if they are not known here.
struct ModelWidths {
  int64_t hidden = 0, vocabulary = 0;
};
ModelWidths WidthsOf(const v1::Model& model);

// For torchtitan: how stages are cut, the cut itself, what is sharded, and how it runs.
void SetTorchtitanStages(const UserConfig& config, UserRun* run);
void CutTorchtitanStages(int64_t layers, UserRun* run);
v1::ZeroStage TorchtitanSharding(const UserConfig& config, const UserRun& run);
v1::Precision TorchtitanPrecision(const UserConfig& config, UserRun* run);
void SetTorchtitanExecution(const UserConfig& config, UserRun* run);
// Sets what its record says of any job, where nothing is set.
void AddTorchtitanHabits(v1::Execution* execution);

// Hugging Face Trainer only: sets attention by attn_implementation, what the loss holds, and the
// kernels that torch_compile fuses.
void SetTrainerAttention(const UserConfig& config, UserRun* run);
void SetTrainerLoss(const UserConfig& config, UserRun* run);
void SetLigerLoss(bool liger, UserRun* run);  // or cut cross entropy
void SetCompiledModules(const UserConfig& config, UserRun* run);

// Sets the optimizer, which may hold no copy of the weights in fp32.
void SetOptimizer(const UserConfig& config, const JobFlags& flags, UserRun* run);
// Sets what AdamW of PyTorch holds in its step if it is not fused.
void SetUnfusedAdam(const UserConfig& config, UserRun* run);

// Sets precision, optimizer, sharding and habits. `degrees` are final.
void SetHabits(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Sets what PEFT's adapter_config.json says. The model is already set.
void SetAdapters(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Notes which components of a model with encoders are frozen, unless flags say it.
void SetComponents(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Freezes the components that SetComponents noted. Throws CommandError(kBadInput) if the model
// should have `encoders` and has none.
void ApplyComponents(bool encoders, UserRun* run);

// Returns whether accelerate turns FSDP on, not Hugging Face's arguments.
bool IsFsdpOfAccelerate(const UserConfig& config);

// Returns the words of "fsdp" in Hugging Face's arguments; none without FSDP, and an empty one if
// accelerate turns it on.
std::vector<std::string> FsdpOptions(const UserConfig& config);

// Returns what FSDP shards, and sets what it keeps in host memory. Sets how many groups of ranks
// each hold all states.
v1::ZeroStage FsdpSharding(const UserConfig& config, UserRun* run, int64_t* groups);

// Sets the trainer whose record has the run's stage, and FSDP's habits: FSDP's own record has only
// full shards.
void SetFsdpTrainer(UserRun* run);

// Returns what the run recomputes.
Recompute RecomputeOf(const UserConfig& config);

// Returns a request that shows the model's layers, whatever the run is.
v1::EvaluatePlanRequest LayersRequest(const UserRun& run);
ModelLayers LayersOf(const v1::Plan& evaluated);

// Settles what depends on the model's layers: cuts torchtitan's stages, gives a model with encoders
// data with units, where no data were given, and freezes components. Throws CommandError(kBadInput)
// if the stages cannot be cut, or if the configuration is one for encoders and the model has none.
void AdaptToLayers(const ModelLayers& layers, UserRun* run);

// Returns the request that evaluates the run, without our own plan for comparison if
// `evaluate_only`. Throws CommandError(kBadInput) if the layers do not go into the stages.
v1::EvaluatePlanRequest RequestOf(const UserRun& run, const ModelLayers& layers,
                                  bool evaluate_only);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_USER_RUN_H_
