#include "client/cli/from/advise/changes.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/advise/evaluate_run.h"
#include "client/cli/from/run/fsdp.h"
#include "client/cli/from/run/layout.h"
#include "client/cli/from/run/model_of.h"
#include "client/cli/from/run/setting_names.h"
#include "client/cli/from/run/torchtitan.h"
#include "client/cli/from/run/trainer_kernels.h"

namespace evenkeel::cli {
namespace {

constexpr double kSamplesAlike = .01;
constexpr double kLeastGain = .001;  // of the time per sample; less is no reason to change

struct DispatcherRecord {
  v1::ExpertDispatcher dispatcher;
  const char *title, *argument;
};
constexpr DispatcherRecord kDispatchers[] = {
    {v1::EXPERT_DISPATCHER_ALL_TO_ALL, "NCCL's all-to-all", "--moe-token-dispatcher-type alltoall"},
    {v1::EXPERT_DISPATCHER_DEEPEP, "DeepEP",
     "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep"},
    {v1::EXPERT_DISPATCHER_HYBRIDEP, "HybridEP",
     "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep"}};

class Neighbours {
 public:
  Neighbours(const UserRun& run, bool fits, ConfigFormat format, const ModelLayers& layers)
      : run_(run), fits_(fits), format_(format), layers_(layers) {}

  std::vector<Change> All() {
    Degrees();
    Experts();
    VirtualStages();
    MicroBatches();
    RecomputeSettings();
    Sharding();
    ReentrantCheckpoint();
    Offload();
    Switches();
    return std::move(changes_);
  }

 private:
  bool megatron() const { return HasMegatronArguments(format_); }

  bool hugging_face() const { return format_ == ConfigFormat::kHuggingFace; }

  // Returns whether the trainer has only data-parallel ranks.
  bool engine() const { return format_ == ConfigFormat::kDeepSpeed || hugging_face(); }

  UserRun& Add(std::string text, std::string argument) {
    Change change{.text = std::move(text), .argument = std::move(argument)};
    change.run = run_;
    changes_.push_back(std::move(change));
    return changes_.back().run;
  }

  std::string Named(const SettingNames& names, int64_t value = 0) const {
    return SettingName(names, run_, format_, value);
  }

  // Returns what to drop with a change: settings that hold only for the present degrees.
  static std::string Without(std::vector<std::string> settings, const std::string& more = "") {
    if (!more.empty()) settings.push_back(more);
    return settings.empty() ? "" : " without " + absl::StrJoin(settings, " and ");
  }

  int64_t LanguageLayers() const {
    return std::count_if(layers_.begin(), layers_.end(), [](v1::LayerKind kind) {
      return kind == v1::LAYER_KIND_DENSE || kind == v1::LAYER_KIND_MOE;
    });
  }

  // Halves and doubles each degree; data parallelism takes the rest.
  void Degrees() {
    if (engine()) return;
    for (const DegreeRecord& record : kDegrees) {
      const int32_t now = (run_.degrees.*record.get)();
      for (const int32_t next : {now / 2, now * 2}) {
        if (next < 1 || next == now || (next > now && run_.degrees.data() % 2 != 0) ||
            (next < now && now % 2 != 0))
          continue;
        // torchtitan cuts its batch and shards in another way where there is a pipeline.
        if (format_ == ConfigFormat::kTorchtitan && record.get == &v1::Parallelism::pipeline &&
            std::min(now, next) == 1)
          continue;
        std::string argument = Named(record.names, next);
        if (record.get == &v1::Parallelism::pipeline)
          argument += Without(run_.cut_settings, run_.virtual_stage_setting);
        const bool first_split = record.get == &v1::Parallelism::tensor && now == 1;
        if (first_split && megatron() && !run_.job.training().execution().sequence_parallel())
          argument += " --sequence-parallel";
        UserRun& run = Add(fmt::format("{} {} instead of {}", record.title, next, now), argument);
        (run.degrees.*record.set)(next);
        const int32_t data = run_.degrees.data();
        run.degrees.set_data(next > now ? data / 2 : data * 2);
        if (run_.batch_follows_ranks) {
          run.sequences = run_.sequences * run.degrees.data() / data;
          run.job.mutable_training()->set_global_batch_samples(run.sequences);
        }
        if (record.get == &v1::Parallelism::pipeline)
          Recut(next, next > 1 && run_.stage_cut.on ? run_.degrees.virtual_stages() : 1, &run);
        if (next > 1 && record.get == &v1::Parallelism::context && now == 1)
          run.job.mutable_training()->mutable_execution()->set_context_exchange(
              megatron() ? v1::CONTEXT_EXCHANGE_RING : v1::CONTEXT_EXCHANGE_ALL_GATHER);
        if (first_split)
          run.job.mutable_training()->mutable_execution()->set_sequence_parallel(true);
        if (record.get == &v1::Parallelism::tensor && run.degrees.expert() > 1 && megatron())
          run.job.mutable_training()->mutable_execution()->set_expert_tensor_parallel(
              std::min(next, run_.job.training().execution().expert_tensor_parallel()));
      }
    }
  }

  // Cuts the model again as torchtitan does, or evenly: Megatron-LM needs stages of equal numbers
  // of layers. Drops a change that cannot be cut so.
  void Recut(int32_t stages, int32_t chunks, UserRun* run) {
    if (stages == 1 || chunks != run->degrees.virtual_stages())
      run->schedule =
          chunks > 1 ? v1::PIPELINE_SCHEDULE_INTERLEAVED : v1::PIPELINE_SCHEDULE_UNSPECIFIED;
    run->degrees.set_virtual_stages(chunks);
    if (run->recompute.block.size() > 1) run->recompute = {};
    if (run->stage_cut.on && stages > 1) return RecutTorchtitan(run);
    if (LanguageLayers() % (stages * chunks) != 0) return changes_.pop_back();
    run->chunks = EvenChunks(LanguageLayers(), stages * chunks);
  }

  void RecutTorchtitan(UserRun* run) {
    const int32_t chunks = run->degrees.virtual_stages();
    const bool fixed = run->stage_cut.each != run_.stage_cut.each;  // the change names the chunks
    try {
      CutTorchtitanStages(LanguageLayers(), run);
    } catch (const CommandError&) {
      return changes_.pop_back();
    }
    if (fixed && run->degrees.virtual_stages() != chunks) changes_.pop_back();
  }

  void Experts() {
    if (!std::count(layers_.begin(), layers_.end(), v1::LAYER_KIND_MOE)) return;
    if (format_ == ConfigFormat::kHuggingFace) return;  // it has none
    const int32_t now = run_.degrees.expert();
    for (const int32_t next : {now / 2, now * 2}) {
      if (next < 1 || (next < now && now % 2 != 0)) continue;
      UserRun& run = Add(fmt::format("expert parallelism {} instead of {}", next, now),
                         Named(kExpertNames, next));
      run.degrees.set_expert(next);
    }
  }

  void VirtualStages() {
    const int32_t stages = run_.degrees.pipeline(), now = run_.degrees.virtual_stages();
    if (stages < 2 || engine()) return;
    for (const int32_t next : {now * 2, now / 2}) {
      if (next < 1 || next == now || (next < now && now % 2 != 0)) continue;
      const int64_t each = LayersToName(stages, next);
      UserRun& run = Add(fmt::format("{} virtual stages on each stage instead of {}", next, now),
                         format_ == ConfigFormat::kTorchtitan
                             ? TorchtitanStages(now, next, each)
                             : Named(kVirtualStageNames, next) + Without(run_.cut_settings));
      run.stage_cut.each = each;
      Recut(stages, next, &run);
    }
  }

  // Returns the layers of a stage that torchtitan must be told, 0 if it must not: it makes one or
  // two stages of each rank by itself.
  int64_t LayersToName(int32_t stages, int32_t chunks) const {
    if (!run_.stage_cut.on || chunks <= 2) return 0;
    const int64_t counted = LanguageLayers() + run_.stage_cut.embedding + run_.stage_cut.head;
    return (counted + stages * chunks - 1) / (stages * chunks);
  }

  std::string TorchtitanStages(int32_t now, int32_t next, int64_t each) const {
    std::string argument;
    if ((now > 1) != (next > 1))
      argument = fmt::format("parallelism.pipeline_parallel_schedule = \"{}\"",
                             next > 1 ? "Interleaved1F1B" : "1F1B");
    constexpr char kLayers[] = "parallelism.pipeline_parallel_layers_per_stage";
    if (each > 0)
      argument += fmt::format("{}{} = {}", argument.empty() ? "" : " with ", kLayers, each);
    else if (run_.stage_cut.each > 0)
      argument += fmt::format("{}without {}", argument.empty() ? "" : " ", kLayers);
    return argument;
  }

  void MicroBatches() {
    if (run_.seq_length == 0 && !run_.padded) return;
    const int64_t now = run_.micro_batch;
    std::vector<int64_t> others = {now * 2, now / 2};
    for (int64_t next = now / 4; !fits_ && next > 0; next /= 2) others.push_back(next);
    for (const int64_t next : others) {
      if (next < 1 || (next < now && now % next != 0) ||
          (run_.sequences > 0 && run_.sequences % (next * run_.degrees.data()) != 0))
        continue;
      std::string argument = Named(kMicroBatchNames, next);
      if (format_ == ConfigFormat::kTorchtitan && run_.degrees.pipeline() > 1)  // cuts the batch
        argument = fmt::format("parallelism.pipeline_parallel_microbatch_size = {}", next);
      if (hugging_face() && run_.sequences > 0)  // which keeps the step's samples
        argument += fmt::format(", \"gradient_accumulation_steps\": {}",
                                run_.sequences / (next * run_.degrees.data()));
      UserRun& run = Add(fmt::format("micro-batches of {} instead of {}", next, now), argument);
      run.micro_batch = next;
      run.derived_unit_cap = 0;  // of packs of another length
    }
  }

  void TryRecompute(const std::string& text, const std::string& argument, Recompute recompute) {
    const Recompute& now = run_.recompute;
    if (now.kind == recompute.kind && now.modules == recompute.modules &&
        now.block == recompute.block && now.encoder == recompute.encoder)
      return;
    UserRun& run = Add(text, argument);
    run.recompute = std::move(recompute);
    run.recomputed_parts.clear();
  }

  void RecomputeSettings() {
    using Kind = Recompute::Kind;
    const bool none_now = run_.recompute.kind == Kind::kNone && run_.recomputed_parts.empty();
    if (!none_now || run_.recompute.encoder)
      TryRecompute("no recompute", Named(kNoRecomputeNames), {});
    if (megatron()) {
      const bool moe = std::count(layers_.begin(), layers_.end(), v1::LAYER_KIND_MOE) > 0;
      const char* const mlp = moe ? "moe" : "mlp";
      TryRecompute("recompute of norms alone",
                   "--recompute-granularity selective --recompute-modules layernorm",
                   {.kind = Kind::kModules, .modules = {"layernorm"}});
      TryRecompute(
          fmt::format("recompute of norms and {}", moe ? "experts" : "MLPs"),
          fmt::format("--recompute-granularity selective --recompute-modules layernorm {}", mlp),
          {.kind = Kind::kModules, .modules = {"layernorm", mlp}});
      const int64_t chunk =
          LanguageLayers() /
          std::max<int64_t>(1, int64_t{run_.degrees.pipeline()} * run_.degrees.virtual_stages());
      for (const int64_t part : {chunk / 4, chunk / 2, chunk * 3 / 4})
        if (part > 0 && part < chunk)
          TryRecompute(
              fmt::format("recompute of the first {} of {} layers of each chunk", part, chunk),
              fmt::format("--recompute-granularity full --recompute-method block "
                          "--recompute-num-layers {}",
                          part),
              {.kind = Kind::kBlock, .block = {part}, .encoder = run_.recompute.encoder});
    }
    if (format_ == ConfigFormat::kTorchtitan && run_.recompute.kind != Kind::kAlternate)
      TryRecompute("recompute of every other product",
                   "activation_checkpoint.mode = \"selective\" with selective_ac_option = \"op\"",
                   {.kind = Kind::kAlternate});
    // The switch of Hugging Face's modules is for encoders too.
    if (run_.recompute.kind != Kind::kEvery && run_.parts.empty())
      TryRecompute("recompute of every layer", Named(kFullRecomputeNames),
                   {.kind = Kind::kEvery, .encoder = hugging_face() || run_.recompute.encoder});
  }

  // Returns what asks FSDP for a strategy: version 1 takes its name, version 2 a truth value.
  std::string FsdpArgument(const std::string& strategy, const char* reshards) const {
    const bool second = run_.fsdp_version == 2;
    const std::string upper = absl::AsciiStrToUpper(strategy);
    if (const std::string& key = run_.accelerate_key; !key.empty())
      return fmt::format("{}: {}", key, second ? reshards : upper);
    static constexpr char kInConfig[] = "in \"fsdp_config\", \"{}\": {}";
    if (second) return fmt::format(kInConfig, "reshard_after_forward", reshards);
    if (const std::string& key = run_.strategy_key; !key.empty())
      return fmt::format(kInConfig, key, '"' + upper + '"');
    return fmt::format("\"{}\" in \"fsdp\"", strategy);
  }

  // FSDP keeps weights whole between forward and backward, or not.
  void FsdpSharding(v1::ZeroStage now) {
    const bool gathers_again = now == v1::ZERO_STAGE_3;
    const std::string& trainer = run_.job.training().trainer().name();
    if (run_.job.training().offload().weights() || (!gathers_again && now != v1::ZERO_STAGE_2) ||
        (trainer != "pytorch-fsdp" && trainer != "huggingface-trainer"))  // --trainer
      return;
    const bool hybrid = run_.job.training().zero_group() > 0;
    const char* const gathers = hybrid ? "hybrid_shard" : "full_shard";
    const char* const keeps = hybrid ? "hybrid_shard_zero2" : "shard_grad_op";
    const char* const next = gathers_again ? keeps : gathers;
    const std::string argument = FsdpArgument(next, gathers_again ? "false" : "true");
    UserRun& run =
        Add(fmt::format("{} instead of {}", next, gathers_again ? gathers : keeps), argument);
    run.job.mutable_training()->set_zero_stage(gathers_again ? v1::ZERO_STAGE_2 : v1::ZERO_STAGE_3);
    SetFsdpTrainer(&run);
  }

  // FSDP gathers weights twice in the backward pass under a reentrant checkpoint.
  void ReentrantCheckpoint() {
    const bool twice = run_.fsdp && run_.job.training().execution().gathers_to_recompute();
    if (!twice || run_.recompute.kind == Recompute::Kind::kNone) return;
    UserRun& run = Add("a checkpoint that is not reentrant",
                       "\"gradient_checkpointing_kwargs\": {\"use_reentrant\": false}");
    v1::Execution* e = run.job.mutable_training()->mutable_execution();
    e->set_gathers_to_recompute(false);
    e->set_stops_recompute_early(true);
  }

  void Sharding() {
    const v1::ZeroStage now = run_.job.training().zero_stage();
    const bool ranks = int64_t{run_.degrees.data()} * run_.degrees.context() > 1;
    if (!ranks) return;
    if (megatron() && now == v1::ZERO_STAGE_0) {
      UserRun& run =
          Add("optimizer states sharded over data-parallel ranks",
              "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather");
      run.job.mutable_training()->set_zero_stage(v1::ZERO_STAGE_1);
      run.job.mutable_training()->mutable_execution()->set_overlap_gradient_reduce(true);
      run.job.mutable_training()->mutable_execution()->set_overlap_weight_gather(true);
    }
    if (run_.fsdp) return FsdpSharding(now);
    if (!engine()) return;
    for (int stage = 0; stage <= 3; ++stage) {
      const auto next = static_cast<v1::ZeroStage>(stage + 1);
      if (next == now || (run_.degrees.pipeline() > 1 && stage > 1)) continue;
      std::string argument = (hugging_face() ? "in \"deepspeed\", " : "") +
                             fmt::format("\"zero_optimization\": {{\"stage\": {}}}", stage);
      if (!run_.accelerate_key.empty())
        argument = fmt::format("{}: {}", run_.accelerate_key, stage);
      UserRun& run = Add(
          fmt::format("ZeRO-{} instead of ZeRO-{}", stage, static_cast<int>(now) - 1), argument);
      run.job.mutable_training()->set_zero_stage(next);
      run.job.mutable_training()->mutable_execution()->clear_autocast();
    }
  }

  void Offload() {
    for (Change& change : OffloadChanges(run_, fits_, format_))
      changes_.push_back(std::move(change));
  }

  // Kernels whose results may differ between runs are quicker.
  void Deterministic() {
    if (!run_.job.training().execution().deterministic()) return;
    std::string argument;
    if (megatron()) argument = "without --deterministic-mode";
    const std::string& key = run_.deterministic_key;  // empty if --job says so
    if (format_ == ConfigFormat::kTorchtitan && !key.empty()) argument = key + " = false";
    if (hugging_face() && !key.empty()) argument = fmt::format("\"{}\": false", key);
    Add("kernels whose results may differ between runs", argument)
        .job.mutable_training()
        ->mutable_execution()
        ->set_deterministic(false);
  }

  void WholeGradients() {
    if (!run_.job.training().execution().accumulates_whole_gradients() || !run_.fsdp) return;
    UserRun& run = Add("gradients reduced in each micro-batch, not kept whole",
                       "\"accelerator_config\": {\"gradient_accumulation_kwargs\": "
                       "{\"sync_each_batch\": true}}");
    run.syncs_each_batch = true;
    SetFsdpTrainer(&run);
  }

  // PyTorch's cross entropy holds all logits several times.
  void Loss() {
    const v1::Execution& now = run_.job.training().execution();
    const bool part = now.has_loss_logit_bytes() && now.loss_logit_bytes() < 4;
    const ModelWidths widths = WidthsOf(run_.job.model());
    if (!hugging_face() || part || widths.hidden == 0 || widths.vocabulary == 0) return;
    SetLigerLoss(/*liger=*/true, &Add("a loss that holds a part of the logits (Liger's)",
                                      "\"use_liger_kernel\": true"));
  }

  void Dispatchers() {
    if (!megatron() || run_.degrees.expert() <= 1) return;
    const v1::Execution& now = run_.job.training().execution();
    // DeepEP runs on B200 and B300, but not next to Grace (Megatron-Bridge's check).
    const bool grace = absl::StartsWith(run_.job.cluster().pools(0).gpu_type(), "gb");
    for (const DispatcherRecord& record : kDispatchers) {
      if (record.dispatcher == now.expert_dispatcher() ||
          (grace && record.dispatcher == v1::EXPERT_DISPATCHER_DEEPEP))
        continue;
      std::string argument = record.argument;
      if (run_.enables_deepep && record.dispatcher != v1::EXPERT_DISPATCHER_DEEPEP)
        argument += Without({"--moe-enable-deepep"});
      UserRun& run = Add(fmt::format("experts' rows exchanged by {}", record.title), argument);
      run.job.mutable_training()->mutable_execution()->set_expert_dispatcher(record.dispatcher);
    }
  }

  // Switches that are off.
  void Switches() {
    Deterministic();
    WholeGradients();
    Loss();
    Dispatchers();
    if (!megatron()) return;
    const v1::Execution& now = run_.job.training().execution();
    const auto edit = [](UserRun& run) { return run.job.mutable_training()->mutable_execution(); };
    const bool sharded = run_.job.training().zero_stage() != v1::ZERO_STAGE_0;
    if (!now.overlap_gradient_reduce() || (sharded && !now.overlap_weight_gather())) {
      UserRun& run =
          Add("communication of data-parallel ranks overlapped with compute",
              sharded ? "--overlap-grad-reduce --overlap-param-gather" : "--overlap-grad-reduce");
      edit(run)->set_overlap_gradient_reduce(true);
      if (sharded) edit(run)->set_overlap_weight_gather(true);
    }
    if (!now.sequence_parallel() && run_.degrees.tensor() > 1)
      edit(Add("norms sharded over tensor-parallel ranks too", "--sequence-parallel"))
          ->set_sequence_parallel(true);
    // Megatron-LM's own layers have no user buffers.
    if (!now.overlap_tensor() && !now.deterministic() && now.sequence_parallel() &&
        now.fused_kernels() && run_.degrees.tensor() > 1)
      edit(Add("tensor-parallel communication overlapped with products", "--tp-comm-overlap"))
          ->set_overlap_tensor(true);
    // Megatron-LM's own layers have no other attention (megatron/core/transformer/
    // dot_product_attention.py).
    const bool unfused = now.attention_kernel() == v1::ATTENTION_KERNEL_UNFUSED;
    if (unfused && now.fused_kernels())
      edit(Add("flash attention", "--attention-backend flash"))
          ->set_attention_kernel(v1::ATTENTION_KERNEL_FLASH);
    if (!now.fused_loss() && !now.deterministic()) {
      UserRun& run =
          Add("fused cross entropy", "--cross-entropy-loss-fusion --cross-entropy-fusion-impl te");
      edit(run)->set_fused_loss(true);
      edit(run)->set_compiled_loss(false);
    }
    if (!now.grouped_experts() && now.has_grouped_experts())
      edit(Add("one launch for all experts of a rank", "--moe-grouped-gemm"))
          ->set_grouped_experts(true);
    if (!now.fused_weight_gradients())
      edit(Add("weight gradients added in the products",
               "without --no-gradient-accumulation-fusion"))
          ->set_fused_weight_gradients(true);
    if (!now.fused_kernels()) {
      UserRun& run = Add("TransformerEngine's fused kernels and attention",
                         "--transformer-impl transformer_engine");
      edit(run)->set_fused_kernels(true);
      if (unfused) edit(run)->set_attention_kernel(v1::ATTENTION_KERNEL_FLASH);
    }
  }

  const UserRun& run_;
  const bool fits_;
  const ConfigFormat format_;
  const ModelLayers& layers_;
  std::vector<Change> changes_;
};

// Evaluates a change. Returns false if the planner refuses it, for example because degrees do not
// divide the heads.
bool Evaluate(const ModelLayers& layers, Backend* backend, Change* change) {
  try {
    change->evaluated =
        EvaluateRun(&change->run, layers, /*evaluate_only=*/true, backend).evaluated();
  } catch (const CommandError& error) {
    if (error.code() != ExitCode::kBadInput) throw;
    return false;
  }
  change->fits = !change->evaluated.has_misfit();
  change->sample_seconds = SampleSeconds(change->evaluated);
  return true;
}

// Says where a change takes another number of samples in a step.
void NameSamples(const v1::Plan& now, Change* change) {
  const double before = now.predictions().samples_per_step();
  const double then = change->evaluated.predictions().samples_per_step();
  if (before <= 0 || then <= 0 || std::abs(then / before - 1) < kSamplesAlike) return;
  change->text += fmt::format(" ({:.0f} samples in a step instead of {:.0f})", then, before);
}

}  // namespace

Changes FirstChanges(const UserRun& run, const v1::Plan& evaluated, ConfigFormat format,
                     const ModelLayers& layers, size_t most, Backend* backend) {
  Changes changes;
  const bool fits = !evaluated.has_misfit();
  const double now = SampleSeconds(evaluated);
  for (Change& change : Neighbours(run, fits, format, layers).All()) {
    if (!Evaluate(layers, backend, &change)) continue;
    ++changes.tried;
    if (!change.fits || (fits && change.sample_seconds > now * (1 - kLeastGain))) continue;
    NameSamples(evaluated, &change);
    changes.best.push_back(std::move(change));
  }
  std::stable_sort(changes.best.begin(), changes.best.end(), [](const Change& a, const Change& b) {
    return a.sample_seconds < b.sample_seconds;
  });
  if (changes.best.size() > most) changes.best.resize(most);
  return changes;
}

}  // namespace evenkeel::cli
