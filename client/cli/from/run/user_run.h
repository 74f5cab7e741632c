// The run that a configuration asks for, as a job and a plan of the contract.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_USER_RUN_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_USER_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
  v1::Job job;  // with model, data, GPUs and the trainer's defaults
  v1::Parallelism degrees;
  v1::PipelineSchedule schedule = v1::PIPELINE_SCHEDULE_UNSPECIFIED;

  // How the model is cut into stages, and what recomputes.
  std::vector<int64_t> chunks;  // language layers of each chunk in the model's order; empty: even
  std::vector<int64_t> parts;   // bounds of stages in the list of all layers, in place of chunks
  StageCut stage_cut;
  // Settings of Megatron-LM, as written, that cut the model or number its virtual stages. They hold
  // only for the degrees of the configuration.
  std::vector<std::string> cut_settings;
  std::string virtual_stage_setting;
  std::set<int64_t> recomputed_parts;  // layers of the list of all layers that recompute
  Recompute recompute;
  int64_t layers = 0;  // language layers that the configuration says; 0 if it does not

  // Batches.
  int64_t micro_batch = 1;  // sequences
  int64_t seq_length = 0;   // tokens; 0: the job's packs decide
  // Caps of packs that neither the configuration nor a flag gives. They are taken from the first
  // evaluation, so that all changes are evaluated over the same packs; 0 before it.
  int64_t derived_unit_cap = 0, derived_token_cap = 0;
  int64_t sequences = 0;             // of a step, over all ranks; 0: the job's
  bool batch_follows_ranks = false;  // more data-parallel ranks make a larger batch

  // Data.
  bool fixed_lengths = false;  // every sample is a sequence
  bool padded = false;         // micro-batches are samples that are padded, not packed
  bool knows_samples = false;  // it is known how many samples the data have
  bool text_only = false;      // the data has no images, even if the model has an encoder
  int64_t steps = 0;           // training ends after this many steps; 0: at the end of the data
  std::string length_limit;    // the setting that limits the length of samples; only text has one
  // If nothing says what the data is: the index of the line in `assumed` that says what is taken in
  // its place.
  std::optional<size_t> invented_data;

  // How the trainer runs.
  bool fsdp = false;                 // Hugging Face's Trainer runs FSDP
  int64_t fsdp_version = 0;          // 1 or 2; 0: nothing says which
  bool syncs_each_batch = false;     // FSDP reduces gradients in each micro-batch
  bool unfused_adam = false;         // PyTorch's AdamW runs, and is not fused
  bool enables_deepep = false;       // --moe-enable-deepep is set
  bool offloads_inputs = false;      // inputs of recomputed layers go to host memory
  bool linear_layers_alone = false;  // torchtitan's low precision is of linear layers, not experts
  // Names in the configuration, for advice. The first is empty unless accelerate says what shards,
  // the second unless a key of fsdp_config names FSDP's strategy.
  std::string accelerate_key, strategy_key, deterministic_key;

  // Frozen weights and adapters.
  bool adapters = false;            // adapters train, over frozen weights
  bool four_bit_weights = false;    // the model's name says that its weights have 4 bits
  std::string encoder_setting;      // the setting that shows that the model has an encoder
  std::string freezes_encoders;     // the front end that freezes encoders unless told otherwise
  std::vector<std::string> frozen;  // components that are frozen
  // The settings by which encoders have adapters too, and the language model has none.
  std::string encoder_adapters, unadapted_llm;
  bool trains_encoder = false;  // some setting trains the encoder
  bool trains_head = false;     // the head trains, though the rest of the language model is frozen

  std::vector<std::string> assumed;  // what was assumed, for people
};

// Layers of a model, front to back.
using ModelLayers = std::vector<v1::LayerKind>;

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_USER_RUN_H_
