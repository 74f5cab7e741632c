// Makes the operations of a layer from its dimensions. Only this class knows how tensor, context
// and sequence parallelism shard rows and widths, and which tensors a product keeps.
#ifndef EVENKEEL_PLANNER_COST_LAYER_BUILDER_H_
#define EVENKEEL_PLANNER_COST_LAYER_BUILDER_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "planner/cost/kernel_time.h"
#include "planner/cost/layer_operation.h"
#include "planner/cost/network.h"
#include "planner/job.h"
#include "planner/trainer/precision.h"

namespace evenkeel::planner {

// The softmax of unfused attention. kUnknown: the trainer has no record, so its time is taken to be
// Megatron's, and its memory PyTorch's.
enum class UnfusedSoftmax { kPyTorch, kMegatron, kUnknown };
UnfusedSoftmax SoftmaxOf(const Trainer& trainer);

// The setting that all layers of one rank share.
struct RankSetting {
  const KernelTime& kernels;
  const Network& network;
  const Cluster& cluster;
  const Execution& execution;
  const Parallelism& parallelism;
  const Dataset& dataset;
  const PrecisionRecipe& recipe;
  PackShape mean;            // communication times are linearised at this pack
  PackShape largest = {};    // the pack that must fit in memory
  bool equal_packs = false;  // every pack has the mean's rows, so kernel times are exact there
  // For layers of encoders: the share of the mean pack's units that this rank encodes, and the
  // ranks that share them. `largest` has the units that this share of them holds.
  double unit_share = 1;
  RankGroup encoder_group = {};
  // Number of neighbouring context ranks that exchange heads. The other context ranks hold other
  // rows of a sample.
  int64_t head_ranks = 1;
  bool encoder_trains = true;          // if false, the encoders' output needs no gradient
  OffloadModules offload_modules = 0;  // of language layers
  bool pads_vocabulary = true;
  UnfusedSoftmax softmax = UnfusedSoftmax::kPyTorch;
  // TransformerEngine's modules: products of experts on streams, copies under tensor parallelism.
  bool transformer_engine = false;
  bool separate_projections = false;  // q, k and v are modules of their own, and so are gate and up
  // A kernel adds each weight's 16-bit gradient to the buffer, in place of the product.
  bool adds_weight_gradients = false;
  double gradient_bytes = 4;      // of a value in that buffer
  int64_t checkpoint_inputs = 1;  // see Trainer
  // Autocast's copies of gathered weights stay until the backward pass.
  bool keeps_cast_weights = false;
};

// How many rows a layer works on. One rank holds `share` of them (context parallelism).
struct Rows {
  PerEncoder<double> per_unit;  // of one encoder, or of none
  double per_token = 0;
  double share = 1;
};

class LayerBuilder {
 public:
  LayerBuilder(const RankSetting& setting, Rows rows, TrainMode train, const LoraSpec& lora);

  // Begins an operation. The calls that follow add to it.
  void Begin(const char* name, RecomputeParts repeated_by = 0);
  // Sets the rows that the operations that follow work on.
  void SetRows(Rows rows) { rows_ = rows; }

  // A linear layer in -> out, both widths on this rank. It works on `share` of the rank's rows
  // (above or below 1 for experts) as `copies` matrices (experts). `whole_flops` are the FLOPs of
  // one row of the model on all ranks together. The weight trains as the TrainMode says, or through
  // an adapter if `target` (LoraTarget) is adapted. Layers that are a target multiply in the
  // recipe's format; the others (heads, routers, patches) in 16 bits.
  struct Linear {
    int64_t in = 0, out = 0;
    double whole_flops = 0;
    bool bias = false;
    int64_t unbiased = 0;  // outputs without a bias, if `bias`
    uint32_t target = 0;
    double share = 1;
    int64_t copies = 1;
    bool expert = false;
    bool router = false;
    bool shared = false;       // the weight is counted elsewhere
    bool saved = false;        // a copy of the weight trains in full, along with adapters
    bool fixed_input = false;  // its input needs no gradient, even if the layer's other inputs do
    double slower = 1;         // time of its products over that of the fitted curve
    // Widths of the products that eager modules run for it, one by one. If empty, there is one.
    std::array<int64_t, 4> products = {};
  };
  void AddLinear(const Linear& linear);
  // Adds the cost of frozen weights in 4 or 8 bits at each use: they are first read, and written in
  // 16 bits.
  void Unpack(const Linear& linear);
  // Returns the number of adapters next to the product.
  int64_t ModulesOf(const Linear& linear) const;
  // Adds autocast's casts for the products: of the weights, and of rows in fp32.
  void AddCasts(const Linear& linear);
  // Adds the passes of adapters next to their products.
  void AddAdapterStreams(const Linear& linear, int64_t adapters);
  // Adds weights that no product reads: norms, biases of the router, tables.
  void AddParameters(double parameters);
  // Adds weights of which a copy trains in full, along with adapters.
  void AddSaved(double parameters);

  // Keeps `values` 16-bit values per row in memory until the operation has run backward.
  void Keep(double values, RecomputeParts dropped_by = 0);
  // Keeps the input of a linear layer with this target, if the gradient of its weight needs it; in
  // the recipe's format where the trainer keeps quantised inputs.
  void KeepInput(double values, uint32_t target, RecomputeParts dropped_by = 0);
  // Keeps the quantised copy of a linear layer's input that another operation keeps in 16 bits.
  void KeepQuantised(double values, uint32_t target, RecomputeParts dropped_by = 0);
  void KeepBytes(const PackCost& bytes, RecomputeParts dropped_by = 0);
  // Lets Offloads() take effect from here on, for the modules that the setting offloads. Before
  // this call it does nothing.
  void OffloadsModules() { offload_modules_ = setting_.offload_modules; }
  // Lets the module's offload move the tensor that the last call kept, if it kept any: as one
  // tensor, or as tensors of this many 16-bit values per row. Small tensors stay on the GPU.
  void Offloads(OffloadModule module);
  void Offloads(OffloadModule module, std::initializer_list<double> tensors);
  // Keeps `values` per row that full recompute of the layer keeps too.
  void KeepAlways(double values);
  // Says that kAlternateProducts keeps this many 16-bit values per row of the operation's results.
  void KeepResults(double values);
  // Adds 16-bit values per row that are read or written.
  void Stream(double values);
  // In deterministic mode PyTorch fills every new tensor of TransformerEngine's before it is
  // written (empty_cuda() of ATen): this many values in each pass. Stream and AddLinear fill
  // theirs.
  void Fill(double forward, double backward);
  // Adds passes over memory by the bytes per row that they move; none if they move nothing. They do
  // not count as launches, so the host takes no time for them.
  void StreamBytes(double forward, double backward, double share = 1);
  // Adds 16-bit values per row that the backward pass holds besides the kept tensors.
  void Transient(double values);

  // Adds an all-gather or reduce-scatter of rows of `width` values over the tensor-parallel ranks,
  // before or after the operation's products. With Execution::overlap_tensor, products and
  // communication overlap in as many parts as there are ranks, except for the first part of either.
  // Rows that products read in fewer than 16 bits are gathered so, unless `in_16bit`.
  void TensorPass(double width, bool in_16bit = false);
  // Adds communication over a group; `bytes_per_row` counts as in Network::GroupCollective.
  // `hidden_ns` of it overlap with other work.
  // Returns the ns that are not hidden.
  double Exchange(Collective op, const RankGroup& group, double bytes_per_row,
                  double hidden_ns = 0);

  // Adds communication that only the backward pass has.
  void AddGradientExchange(double ns);
  // Adds an exchange of rows between the ranks of experts, by the execution's dispatcher, for
  // `values` of each of the rank's routed rows. With Execution::overlap_experts it overlaps with
  // the compute of another micro-batch in a layer of this kind. With overlap_shared_expert it
  // overlaps with the products from SharedExpert() on.
  void ExpertExchange(double values, int64_t top_k);
  // Adds an all-gather or reduce-scatter among the ranks of one expert. It overlaps as
  // ExpertExchange does.
  void ExpertGather(int64_t ranks, double bytes_per_row);
  // Marks the operations that follow as the shared expert's.
  void SharedExpert() { shared_from_ = work_.operations.size(); }

  // Adds a norm over `width` values of `share` of the rows.
  void AddNorm(Norm norm, double width, double share);
  // Adds the passes and kept tensors of a norm, but not its weights: norms on single heads have
  // only the weights of one head.
  void AddNormRows(Norm norm, double width, double share);

  PackCost PerRow(double value) const { return PerRowOf(rows_, value); }
  // Returns a value per row of the model, all ranks together.
  PackCost WholeRows(double value) const;
  PackCost OverRows(const Affine& cost, double share = 1) const;
  // Returns this rank's rows times `share` if every pack has the same number, or 0 if packs differ.
  int64_t EqualRows(double share = 1) const;
  // Returns the share of the rank's rows that norms and residuals hold: a tensor-parallel share
  // with sequence parallelism.
  double shard() const { return shard_; }
  // Returns the share of a gathered input that a rank keeps for the backward pass.
  double gathered_shard() const { return setting_.execution.keeps_gathered_inputs ? 1 : shard_; }
  double tensor() const { return static_cast<double>(setting_.parallelism.tensor); }
  bool gathers() const { return setting_.parallelism.tensor > 1; }
  bool trains(uint32_t target) const;
  // Returns the format of a linear layer's products.
  NumberFormat format(uint32_t target) const {
    return target == 0 ? NumberFormat::k16Bit : setting_.recipe.products;
  }
  const RankSetting& setting() const { return setting_; }
  const Rows& rows() const { return rows_; }
  LayerOperation& operation() { return work_.operations.back(); }

  // Returns the layer. Its input has `width` values per row.
  LayerWork Finish(double width);

 private:
  static PackCost PerRowOf(const Rows& rows, double value);
  double MeanRows() const;
  // Counts a linear layer's products, and marks those that kAlternateProducts runs again.
  void CountProducts(const Linear& linear, const PackCost& time);
  bool KeepsQuantised(uint32_t target) const;
  // Returns the bytes of a value that tensor-parallel ranks gather for the products.
  double GatheredBytes(bool in_16bit) const;
  void HideTensorPasses();
  // Hides exchanges of experts during the operations from `from` to `to`.
  void HideExpertExchanges(size_t from, size_t to);

  RankSetting setting_;
  Rows rows_;
  TrainMode train_;
  LoraSpec lora_;
  double shard_;
  OffloadModules offload_modules_ = 0;
  double kept_value_bytes_ = 0;  // per value of the tensor kept last; 0 if the last call kept none
  LayerWork work_;
  // The input that KeepInput kept last, for the operation of that number (from 1).
  struct KeptInput {
    double values = 0;
    RecomputeParts dropped_by = 0;
    size_t operation = 0;
  } input_;
  PackCost kept_always_;
  struct Exchanged {
    size_t operation = 0;
    double ns = 0;
    Rows rows = {};
  };
  std::vector<Exchanged> tensor_passes_, expert_exchanges_;
  int64_t products_ = 0;    // number of products without a bias so far
  size_t shared_from_ = 0;  // the first operation of the shared expert; 0 without one
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_BUILDER_H_
