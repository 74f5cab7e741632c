// Makes the operations of a layer from its dimensions: the one place that knows how tensor, context
// and sequence parallel shard rows and widths, and which tensors a product keeps.
#ifndef EVENKEEL_PLANNER_COST_LAYER_BUILDER_H_
#define EVENKEEL_PLANNER_COST_LAYER_BUILDER_H_

#include <cstdint>
#include <vector>

#include "planner/cost/kernel_time.h"
#include "planner/cost/layer_operation.h"
#include "planner/cost/network.h"
#include "planner/job.h"

namespace evenkeel::planner {

// What all layers of one rank share.
struct RankSetting {
  const KernelTime& kernels;
  const Network& network;
  const Cluster& cluster;
  const Execution& execution;
  const Parallelism& parallelism;
  PackShape mean;            // communication is linearised here
  bool equal_packs = false;  // every pack has the mean's rows: times of kernels are exact there
};

// How many rows a layer works on. `share` of them lie on one rank (context parallel).
struct Rows {
  double per_unit = 0;
  double per_token = 0;
  double share = 1;
};

class LayerBuilder {
 public:
  LayerBuilder(const RankSetting& setting, Rows rows, TrainMode train, const LoraSpec& lora);

  // Begins an operation; what follows belongs to it.
  void Begin(const char* name, RecomputeParts repeated_by = 0);

  // A linear layer in -> out, both widths of this rank, over `share` of the rank's rows (experts:
  // more or less than 1), as `copies` matrices (experts). `whole_flops`: of one row of the model,
  // all ranks together. Its weight trains by the TrainMode, or through an adapter where `target`
  // (LoraTarget) is adapted.
  struct Linear {
    int64_t in = 0, out = 0;
    double whole_flops = 0;
    bool bias = false;
    uint32_t target = 0;
    double share = 1;
    int64_t copies = 1;
    bool expert = false;
    bool shared = false;  // the weight is counted elsewhere
  };
  void AddLinear(const Linear& linear);
  // Weights that no product reads: norms, biases of the router, tables.
  void AddParameters(double parameters);

  // `values` 16-bit values per row stay in memory until the operation has run backward.
  void Keep(double values, RecomputeParts dropped_by = 0);
  // Likewise where a weight's gradient needs them: the input of a linear layer with this target.
  void KeepInput(double values, uint32_t target, RecomputeParts dropped_by = 0);
  void KeepBytes(const PackCost& bytes, RecomputeParts dropped_by = 0);
  // 16-bit values per row that are read and written.
  void Stream(double values);
  // 16-bit values per row that the backward pass holds besides what is kept.
  void Transient(double values);

  // All-gather or reduce-scatter of rows of `width` values over tensor parallel, at an end of the
  // operation's products: with Execution::overlap_tensor they go on together, in as many parts as
  // there are ranks, and the first part of either is alone.
  void TensorPass(double width);
  // Communication over a group; `bytes_per_row` as Network::GroupCollective counts them. `hidden`
  // ns of it run beside other work.
  void Exchange(Collective op, const RankGroup& group, double bytes_per_row, double hidden_ns = 0);

  // Norm over `width` values of `share` of the rows; `parameters` of the rank.
  void AddNorm(Norm norm, double width, double share);

  PackCost PerRow(double value) const;
  PackCost OverRows(const Affine& cost, double share = 1) const;
  // Rows of this rank times `share` that every pack has; 0: packs differ.
  int64_t EqualRows(double share = 1) const;
  // Rows that norms and residuals hold: a tensor-parallel share with sequence parallel.
  double shard() const { return shard_; }
  double tensor() const { return static_cast<double>(setting_.parallelism.tensor); }
  bool gathers() const { return setting_.parallelism.tensor > 1; }
  bool trains(uint32_t target) const;
  const RankSetting& setting() const { return setting_; }
  const Rows& rows() const { return rows_; }
  LayerOperation& operation() { return work_.operations.back(); }

  // The layer, with an input of `width` values per row.
  LayerWork Finish(double width);

 private:
  double MeanRows() const;
  void HideTensorPasses();

  RankSetting setting_;
  Rows rows_;
  TrainMode train_;
  LoraSpec lora_;
  double shard_;
  LayerWork work_;
  struct TensorTime {
    size_t operation = 0;
    double ns = 0;
  };
  std::vector<TensorTime> tensor_times_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_BUILDER_H_
