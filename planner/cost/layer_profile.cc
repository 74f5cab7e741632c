#include "planner/cost/layer_profile.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/activation_copies.h"
#include "planner/cost/apply_calibration.h"
#include "planner/cost/encoder_share.h"
#include "planner/cost/end_layers.h"
#include "planner/cost/expert_dispatch.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/host_time.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/made_gradients.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/cost/optimizer_time.h"
#include "planner/cost/recompute_modes.h"
#include "planner/cost/slowest_gpu.h"
#include "planner/cost/transformer_layer.h"
#include "planner/cost/weight_gather.h"
#include "planner/model/layer_runs.h"
#include "planner/model/towers.h"
#include "planner/space/degrees.h"
#include "planner/space/trainer_recompute.h"

namespace evenkeel::planner {
namespace {

int64_t Bytes(double value) { return Nearest(std::min(value, D(kPartBytesAtMost))); }
int64_t WorkspaceBytes(double value) { return Nearest(std::min(value, D(kWorkspaceBytesAtMost))); }

// Returns whether every pack has the same rows: then none is larger than the mean.
bool EqualRows(const PackShape& mean, const PackShape& largest) {
  return mean.units == largest.units && mean.tokens == largest.tokens;
}

// Returns the job's execution with its dispatcher chosen.
Execution ExecutionOf(const Job& job, const Parallelism& p, const PackShape& mean) {
  Execution execution = job.training.execution;
  if (job.model.language_model.moe) execution.dispatcher = PlannedDispatcher(job, p, mean);
  return execution;
}

class ProfileBuilder {
 public:
  ProfileBuilder(const Job& job, const Parallelism& p, const PackShape& mean,
                 const PackShape& largest, const std::vector<RecomputeParts>& also)
      : job_(job),
        degrees_(p),
        p_(p),
        mean_(mean),
        largest_(largest),
        also_(also),
        settings_(SelectiveSettings(job)),
        kernels_(job.cluster.gpu, job.constants, RecipeOf(job.training.precision).products),
        network_(job.cluster, job.constants),
        execution_(ExecutionOf(job, p, mean)),
        setting_(SettingWith(RecipeOf(job.training.precision))),
        setting_16bit_(SettingWith(RecipeOf(Precision::k16Bit))) {}

  LayerProfile Build() {
    const LanguageModel& m = job_.model.language_model;
    profile_.buffer_bytes = BufferBytes(job_, p_, largest_);
    profile_.host_room = HostRoom(job_, largest_);
    for (size_t i = 0; i < job_.model.towers.size(); ++i) AddTower(i);
    trained_before_ = tower_trains_;
    setting_.encoder_trains = setting_16bit_.encoder_trains = tower_trains_;
    if (KeepsEncoderWhole(job_)) profile_.first_stage_layers = profile_.size();
    AddTokenEmbedding(m);
    AddDecoderLayers(m);
    AddHead(m);
    return std::move(profile_);
  }

 private:
  RankSetting SettingWith(const PrecisionRecipe& recipe) const {
    return {.kernels = kernels_,
            .network = network_,
            .cluster = job_.cluster,
            .execution = execution_,
            .parallelism = p_,
            .dataset = job_.dataset,
            .recipe = recipe,
            .mean = mean_,
            .largest = largest_,
            .equal_packs = EqualRows(mean_, largest_),
            .head_ranks = HeadRanksOf(job_, p_, network_),
            .offload_modules = job_.training.activations.modules,
            .pads_vocabulary = job_.training.trainer->pads_vocabulary,
            .softmax = SoftmaxOf(*job_.training.trainer),
            .transformer_engine = job_.training.trainer->megatron_kernels,
            .separate_projections = !job_.training.trainer->default_execution.fused_kernels,
            .adds_weight_gradients = AddsWeightGradients(job_.training),
            .gradient_bytes = GradientBytes(job_.training),
            .checkpoint_inputs = job_.training.trainer->checkpoint_inputs,
            .keeps_cast_weights = execution_.autocast && gathers()};
  }

  // Sets times. Backward repeats each product for the input's gradient if a layer before it (or an
  // adapter next to it) trains, and for the weight's gradient if the weight does.
  void SetTimes(LayerCost& layer, const LayerWork& work, TrainMode train) {
    layer.trains = work.trained_parameters > 0;
    const bool input_gradient = trained_before_ || train == TrainMode::kLora;
    layer.has_backward = layer.trains || input_gradient;
    int64_t launches = 0;
    bool host_waits = false;
    const bool full = train == TrainMode::kFull;
    PackCost weight_flops;  // of products whose weights have gradients
    for (const LayerOperation& op : work.operations) {
      for (const PackCost* part : {&op.matrices, &op.adapters, &op.attention, &op.streams})
        layer.forward += *part;
      layer.forward_communication += op.communication;
      layer.forward_flops += op.flops;
      launches += op.launches;
      host_waits = host_waits || op.host_waits;
      if (!layer.has_backward) continue;
      if (input_gradient) layer.backward += op.input_gradients;
      layer.backward += 2 * op.adapters;
      layer.backward += op.attention_gradients;
      layer.backward += op.stream_gradients;
      if (full || op.weight_trains) {
        layer.backward += op.weight_gradients;
        layer.weight_gradient += op.weight_gradients;
      }
      if (op.weight_trains) weight_flops += op.flops;
      layer.weight_gradient += op.adapters;
    }
    const double flops = layer.forward_flops.at(mean_);
    const double share = flops > 0 ? weight_flops.at(mean_) / flops : 0;
    layer.backward_flops_ratio = (input_gradient ? 1 : 0) + (full ? (layer.trains ? 1 : 0) : share);
    if (layer.has_backward) {
      layer.backward_communication = layer.forward_communication;
      for (const LayerOperation& op : work.operations)
        layer.backward_communication += op.gradient_communication;
    }
    const Tail tail = TailOf(work, mean_);
    (repeated_ = layer.forward) += -1 * tail.compute;
    (repeated_communication_ = layer.forward_communication) += -1 * tail.communication;
    AddHostTime(layer, launches, work.trained_tensors, host_waits);
    trained_before_ = trained_before_ || layer.trains;
  }

  // The host launches about twice as many kernels backward as forward. Where it waits for a result
  // in the forward pass, its time does not run beside the device's.
  void AddHostTime(LayerCost& layer, int64_t launches, int64_t trained_tensors, bool host_waits) {
    const double host = D(launches) * job_.training.execution.host_launch_ns;
    const auto beside = [&](PackCost device, const PackCost& communication) {
      const double ns = (device += communication).at(mean_);
      return host_waits ? host : OverlappedTime(ns, host) - ns;
    };
    layer.forward.constant += beside(layer.forward, layer.forward_communication);
    repeated_.constant += beside(repeated_, repeated_communication_);
    if (!layer.has_backward) return;
    const double hook = job_.training.execution.weight_hook_ns +
                        (job_.training.fused_step ? kFusedUpdateHostNs : 0);
    const double hooks = D(trained_tensors) * hook;
    const double backward = layer.backward.at(mean_) + layer.backward_communication.at(mean_);
    layer.backward.constant += OverlappedTime(backward, 2 * host + hooks) - backward;
  }

  void SetParameters(LayerCost& layer, const LayerWork& work) {
    const ShardedBytes bytes = ShardedBytesOf(job_, p_, work);
    const int64_t most = kPartBytesAtMost / 16;
    layer.parameters = std::min(Nearest(work.parameters), most);
    layer.trained_parameters = std::min(Nearest(work.trained_parameters), most);
    layer.trained_expert_parameters = std::min(Nearest(work.trained_expert_parameters), most);
    layer.weight_bytes = Bytes(bytes.WithCopies(layer.has_backward));
    layer.gradient_bytes = Bytes(bytes.gradients);
    layer.optimizer_bytes = Bytes(bytes.optimizer);
    layer.update_bytes = Bytes(bytes.update);
    layer.offloaded_bytes = Bytes(bytes.offloaded);
    layer.host_bytes = Bytes(bytes.weights) + layer.optimizer_bytes + layer.offloaded_bytes;
    gather_ns_ = 0;
    if (gathers()) GatherWeights(layer, work);
    in_turn_ = bytes.in_turn;
    if (!job_.training.fused_step || !layer.trains) return;
    const double update = UpdateTime(job_, kernels_, p_.tensor, bytes.updated);
    layer.backward_communication.constant += update;
    layer.update_ns = Nearest(update);
  }

  // Returns the time that collectives and copies add to the compute of a layer that runs beside
  // them: the part that the compute does not hide, and the slowdown by the processors that
  // collectives take.
  double Beside(double compute, double collectives, double copies) const {
    const double exposed = std::max(0.0, collectives + copies - compute);
    const double hidden = std::max(0.0, collectives - exposed);
    return exposed +
           job_.constants.collective_processors / job_.cluster.gpu.costs.processors * hidden;
  }

  bool gathers() const { return job_.training.zero_stage == ZeroStage::kWeights; }

  // Adds the time of gathering weights and reducing gradients beside compute, which is equal for
  // all packs.
  void GatherWeights(LayerCost& layer, const LayerWork& work) {
    const GatherTimes times = GatherTimesOf(job_, kernels_, network_, p_, work);
    const double forward = layer.forward.at(mean_), backward = layer.backward.at(mean_);
    gather_ns_ = Beside(forward, times.gather, times.host_to_device_ns) + times.gather_traffic;
    layer.forward_communication.constant += gather_ns_;
    layer.forward.constant += times.adapters;
    repeated_.constant += times.adapters;
    if (!layer.has_backward) return;
    layer.backward.constant += 2 * times.adapters;
    layer.backward_communication.constant +=
        Beside(backward, times.gather + times.reduce,
               times.host_to_device_ns + times.device_to_host_ns) +
        times.gather_traffic + times.reduce_traffic;
  }

  // Returns the bytes held on top of a layer's kept tensors and transients: buffers, weight
  // gradients before they are in the gradient buffer and, with ZeRO-3, the weights of this layer
  // and the next.
  double Surroundings(const LayerWork& work) const {
    // If frozen weights have 4 or 8 bits, the matrix in use also takes its memory in 16 bits.
    double bytes = D(profile_.buffer_bytes) + WeightGradientBytes(job_.training, work) +
                   kValueBytes * work.largest_packed + in_turn_;
    if (gathers()) {
      const SharedWeights gathered = GatheredWeights(job_.training, p_, work);
      bytes += 2 * gathered.bytes + HeldWeightBytes(execution_) * gathered.trained +
               (work.quantised ? 2 * QuantisedWeightBytes(job_) * work.matrix_parameters : 0);
    }
    return bytes;
  }

  // Returns the sets of parts that some setting of the trainer recomputes, and those in `also`.
  std::vector<RecomputeParts> SetsOf(LayerKind kind) const {
    std::vector<RecomputeParts> sets = also_;
    if (kind == LayerKind::kEncoder) return sets;
    for (const RecomputeSetting& setting : settings_)
      sets.push_back(kind == LayerKind::kMoe ? setting.moe_parts : setting.dense_parts);
    return sets;
  }

  // Returns the sets of parts that a layer may recompute where each chooses its own.
  std::vector<RecomputeParts> FreeSets(LayerKind kind, const LayerWork& work) const {
    if (!job_.training.trainer->alternate_products) return PartSets(work);
    if (kind == LayerKind::kEncoder) return {};
    return {kAlternateProducts};
  }

  void SetMemory(LayerCost& layer, const LayerWork& work) {
    if (!layer.has_backward) {
      layer.modes.front().workspace_bytes = WorkspaceBytes(Surroundings(work));
      return;
    }
    const double workspace = Surroundings(work) + BackwardTransient(work, setting_.largest);
    if (job_.training.activations.modules != 0) return SetModulesMemory(layer, work, workspace);
    const bool one = job_.constraints.recompute == RecomputePolicy::kOneSetting;
    const auto modes_of = one ? GivenModes : RecomputeModes;
    layer.modes = modes_of(work, mean_, setting_.largest, workspace,
                           one ? SetsOf(layer.kind) : FreeSets(layer.kind, work), also_);
    if (!IsTransformerLayer(layer.kind)) {
      layer.modes.resize(1);
      return;
    }
    if (job_.training.activations.layers > 0 && layer.kind != LayerKind::kEncoder)
      layer.copied = KeptBytes(work, PartsBesideOffload(job_));
    // Full recompute repeats the whole layer, with the time that the host adds. It may use the
    // weights that ZeRO-3 gathers for the backward pass, which counts them.
    RecomputeMode& whole = layer.modes.back();
    whole.repeated = repeated_;
    whole.repeated_communication = repeated_communication_;
    if (execution_.gathers_to_recompute) whole.repeated_communication.constant += gather_ns_;
  }

  // Beside an offload of modules, other layers recompute nothing.
  void SetModulesMemory(LayerCost& layer, const LayerWork& work, double workspace) {
    const ActivationOffload& activations = job_.training.activations;
    const RecomputeParts parts = layer.kind == LayerKind::kDense ? activations.beside.dense_parts
                                 : layer.kind == LayerKind::kMoe ? activations.beside.moe_parts
                                                                 : 0;
    layer.modes = ModesBesideModules(work, mean_, setting_.largest, workspace, parts,
                                     activations.modules, activations.charged_modules);
    layer.copied = MovedBytes(work, layer.modes.back().parts, activations.charged_modules);
  }

  // Returns the bytes of the rows that leave a layer, sharded by sequence parallelism.
  PackCost OutputBytes(const Rows& rows, int64_t width) const {
    const double shard = setting_.execution.sequence_parallel ? 1 / D(p_.tensor) : 1;
    const double value = RowValueBytes(execution_);
    return {.per_unit = rows.per_unit * rows.share * D(width) * value * shard,
            .per_token = rows.per_token * rows.share * D(width) * value * shard};
  }

  // Sets the bytes that leave a layer: its own rows and, in an encoder, earlier encoders' outputs.
  void SetOutput(LayerCost& layer, const Rows& rows, int64_t width) {
    PackCost bytes = OutputBytes(rows, width);
    // A decoder that attends to the encoder's output hands it on.
    if (IsTowerLayer(layer.kind) || job_.model.language_model.cross) bytes += passing_;
    layer.mean_output_bytes = Nearest(bytes.at(mean_));
    layer.output_bytes = Nearest(bytes.at(setting_.largest));
  }

  // Adds a class of layers and returns its index.
  int AddClass(LayerCost layer) {
    const bool of_encoder = IsTowerLayer(layer.kind);
    const bool first_mode = job_.training.activations.modules == 0 && PartsBesideOffload(job_) == 0;
    const RecomputeMode& used = first_mode ? layer.modes.front() : layer.modes.back();
    const int64_t kept_bytes = used.kept_bytes;
    Calibrate(job_.calibration, of_encoder ? EncoderDegrees(degrees_).tensor : degrees_.tensor,
              layer);
    if (kept_bytes > 0) layer.copied = (D(used.kept_bytes) / D(kept_bytes)) * layer.copied;
    OffloadActivations(job_, mean_, layer);
    PackCost forward = layer.forward, backward = layer.backward;
    forward += layer.forward_communication;
    backward += layer.backward_communication;
    layer.forward_ns = Nearest(forward.at(mean_));
    layer.backward_ns = layer.has_backward ? Nearest(backward.at(mean_)) : 0;
    layer.weight_gradient_ns = Nearest(layer.weight_gradient.at(mean_));
    for (RecomputeMode& mode : layer.modes) {
      PackCost repeated = mode.repeated;
      repeated += mode.repeated_communication;
      mode.repeated_ns = Nearest(repeated.at(mean_));
    }
    if (IsTowerLayer(layer.kind)) layer.encoder = encoder_;
    profile_.classes.push_back(std::move(layer));
    return static_cast<int>(profile_.classes.size()) - 1;
  }

  void Extend(int of_class, int64_t count) {
    profile_.chain.insert(profile_.chain.end(), static_cast<size_t>(count), of_class);
    const LayerKind kind = profile_.classes[static_cast<size_t>(of_class)].kind;
    if (IsTransformerLayer(kind)) profile_.transformer_layers += count;
  }

  void Add(LayerCost layer, int64_t count) { Extend(AddClass(std::move(layer)), count); }

  LayerCost CostOf(LayerKind kind, LayerWork work, TrainMode train) {
    const bool runs = !IsTowerLayer(kind) || mean_.units[static_cast<size_t>(encoder_)] > 0;
    // Trainers skip an encoder for which no pack has images.
    if (!runs) {
      work.operations.clear();
      work.trained_tensors = 0;
    }
    const double longer = SlowestGpu(job_) / job_.training.execution.kernel_rate;
    for (LayerOperation& op : work.operations)
      for (PackCost* part :
           {&op.matrices, &op.input_gradients, &op.weight_gradients, &op.adapters, &op.attention,
            &op.attention_gradients, &op.streams, &op.stream_gradients})
        *part = longer * *part;
    LayerCost layer{.kind = kind};
    SetTimes(layer, work, train);
    SetParameters(layer, work);
    SetMemory(layer, work);
    return layer;
  }

  // Sets degrees and share of the rank that encodes most of a pack's units. Memory counts them by
  // the largest pack's share, which is another one.
  void ShareImages(const Encoder& e, size_t index) {
    p_ = EncoderDegrees(degrees_);
    const EncoderShare share =
        EncoderShareOf(job_.dataset, e, index, p_.encoder_data, mean_, largest_);
    setting_.unit_share = share.mean;
    setting_.encoder_group = network_.EncoderGroup(degrees_);
    setting_.largest = largest_;
    setting_.largest.units[index] *= share.largest / share.mean;
  }

  // An encoder does not read the outputs of earlier encoders, which pass by its layers.
  void AddTower(size_t index) {
    const EncoderTower& tower = job_.model.towers[index];
    const Encoder& e = tower.encoder;
    trained_before_ = false;
    encoder_ = static_cast<int64_t>(index);
    ShareImages(e, index);
    const Rows rows = UnitRows(index, e.tokens_per_unit, setting_.unit_share);
    auto in = CostOf(LayerKind::kPatchEmbedding, PatchEmbeddingWork(setting_, e, index), e.train);
    SetOutput(in, rows, e.hidden);
    Add(std::move(in), 1);
    AddEncoderLayers(e, index, rows);
    const int64_t hidden = job_.model.language_model.hidden;
    LayerCost projector =
        CostOf(LayerKind::kProjector, ProjectorWork(setting_, tower, index, hidden),
               tower.projector.train);
    // All ranks have all embeddings, as the language model splits them.
    p_ = degrees_;
    setting_.largest = largest_;
    const Rows projected = UnitRows(index, GivenTokens(e), 1);
    SetOutput(projector, projected, hidden);
    Add(std::move(projector), 1);
    passing_ += OutputBytes(projected, hidden);
    tower_trains_ = tower_trains_ || trained_before_;
  }

  void AddEncoderLayers(const Encoder& e, size_t index, const Rows& rows) {
    const auto add_class = [&](bool windowed) {
      LayerCost layer =
          CostOf(LayerKind::kEncoder, EncoderLayerWork(setting_, e, index, windowed), e.train);
      SetOutput(layer, rows, e.hidden);
      return AddClass(std::move(layer));
    };
    const int full = add_class(false);
    if (e.window_tokens == 0) return Extend(full, e.layers);
    const int windowed = add_class(true);
    for (int64_t i = 0; i < e.layers; ++i) {
      const bool whole =
          std::find(e.full_layers.begin(), e.full_layers.end(), i) != e.full_layers.end();
      Extend(whole ? full : windowed, 1);
    }
  }

  void AddTokenEmbedding(const LanguageModel& m) {
    LayerCost layer = CostOf(LayerKind::kTokenEmbedding, TokenEmbeddingWork(setting_, m), m.train);
    SetOutput(layer, TokenRows(p_), PassedWidth(m));
    Add(std::move(layer), 1);
  }

  // Returns the index of the class of a layer, which it adds at its first use.
  int ClassOf(const LanguageModel& m, const LanguageLayer& layer, bool in_16bit) {
    for (const DecoderClass& known : decoder_classes_) {
      if (known.in_16bit != in_16bit || known.layer != layer) continue;
      left_to_head_ = known.left_to_head;
      return known.of_class;
    }
    const LayerWork work = DecoderLayerWork(in_16bit ? setting_16bit_ : setting_, m, layer);
    LayerCost cost = CostOf(KindOf(layer), work, m.train);
    SetOutput(cost, TokenRows(p_), PassedWidth(m));
    // The head's backward pass finds the buffers of their weight gradients, and ZeRO-3 gathers the
    // last layer's weights meanwhile.
    left_to_head_ = WeightGradientBytes(job_.training, work) +
                    (gathers() ? GatheredWeights(job_.training, p_, work).bytes : 0);
    decoder_classes_.push_back({layer, in_16bit, AddClass(std::move(cost)), left_to_head_});
    return decoder_classes_.back().of_class;
  }

  // The first and the last layers may stay in 16 bits: each is a class of its own there.
  void AddDecoderLayers(const LanguageModel& m) {
    const bool mixed = setting_.recipe.products != NumberFormat::k16Bit;
    const int64_t start = mixed ? execution_.start_layers_16bit : 0;
    const int64_t end = m.layers - (mixed ? execution_.end_layers_16bit : 0);
    int64_t at = 0;
    for (const LayerRun& run : RunsOf(m)) {
      for (const int64_t last = at + run.count; at < last;) {
        const bool in_16bit = at < start || at >= end;
        const int64_t next = std::min(last, at < start ? start : at < end ? end : last);
        Extend(ClassOf(m, run.layer, in_16bit), next - at);
        at = next;
      }
    }
  }

  void AddHead(const LanguageModel& m) {
    LayerCost layer = CostOf(LayerKind::kHead, HeadWork(setting_, m), m.train);
    if (layer.has_backward) {
      const HeadTransient held = HeadTransientOf(setting_, m, largest_);
      layer.logits_bytes = Bytes(held.logits.at(largest_));
      layer.modes.front().workspace_bytes =
          WorkspaceBytes(D(profile_.buffer_bytes) + left_to_head_ + held.weight_gradient +
                         (gathers() ? HeadWeightBytes(setting_, m) : 0) + held.logits.at(largest_) +
                         held.rest.at(largest_) + in_turn_);
    }
    Add(std::move(layer), 1);
  }

  const Job& job_;
  const Parallelism degrees_;
  Parallelism p_;  // of the layers that are being added: EncoderDegrees for those of encoders
  const PackShape mean_, largest_;
  const std::vector<RecomputeParts>& also_;
  const std::vector<RecomputeSetting> settings_;
  const KernelTime kernels_;
  const Network network_;
  const Execution execution_;
  RankSetting setting_;        // by the recipe
  RankSetting setting_16bit_;  // of layers that stay in 16 bits
  bool trained_before_ = false;
  bool tower_trains_ = false;
  int64_t encoder_ = 0;  // that is being added
  PackCost passing_;     // bytes that the encoders so far give to the language model
  struct DecoderClass {
    LanguageLayer layer;
    bool in_16bit = false;
    int of_class = 0;
    double left_to_head = 0;
  };
  std::vector<DecoderClass> decoder_classes_;
  double left_to_head_ = 0;  // bytes of the last decoder layer that the head's backward pass finds
  PackCost repeated_, repeated_communication_;  // of the last layer, if it is recomputed whole
  double gather_ns_ = 0;  // that gathering the last layer's weights adds to its forward pass
  double in_turn_ = 0;    // bytes of gradients and update of the last layer, under a fused step
  LayerProfile profile_;
};

}  // namespace

LayerProfile BuildLayerProfile(const Job& job, const Parallelism& parallelism,
                               const PackShape& mean, const PackShape& largest,
                               const std::vector<RecomputeParts>& also, int64_t micro_batches,
                               bool kept_ascends) {
  LayerProfile profile = ProfileBuilder(job, parallelism, mean, largest, also).Build();
  SetGradients(job, parallelism, micro_batches, kept_ascends, &profile);
  return profile;
}

}  // namespace evenkeel::planner
