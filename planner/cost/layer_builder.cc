#include "planner/cost/layer_builder.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/expert_dispatch.h"

namespace evenkeel::planner {
namespace {

// Norms and activations move two tensors forward and three backward.
constexpr double kStreamBackward = 1.5;

// Bytes per value that dropout of an adapter's input keeps: a copy in 16 bits and a mask.
constexpr double kDroppedBytes = 3;

// Time of bitsandbytes' kernel that unpacks NF4 over that of streaming its bytes: 1.17 ns for 1000
// weights on H100 (section "four bits"). Assumed for 8-bit integers too.
constexpr double kUnpackSlower = 1.22;

// Returns the launches that a tensor-parallel collective counts as. torch.compile traces DTensor
// away.
int64_t CollectiveLaunches(const Execution& e) {
  return e.fused_kernels ? std::min(e.collective_launches, Execution{}.collective_launches)
                         : e.collective_launches;
}

// Returns the ns of a pass that adds the 16-bit gradient of a matrix to the buffer, which it reads
// and writes.
double AddingNs(const RankSetting& setting, double weights) {
  const double bytes = kValueBytes + 2 * setting.gradient_bytes;
  const Execution& e = setting.execution;
  const double filled = e.deterministic && e.fused_kernels ? kValueBytes : 0;
  const Affine add = setting.kernels.MemoryBound((bytes + filled) * weights);
  return add.constant + add.per_row;
}

// Time of a grouped product, on top of its tiles, to set up the sizes of its groups: measured on
// H100 and H200 (section "experts").
constexpr double kGroupedStartNs = 12e3;

// Returns the line of all copies of a product (experts). `of(n)` is the line of n copies whose
// tiles share waves. TransformerEngine runs them on four streams (multi_stream_cublas_gemm of
// common/gemm/cublaslt_gemm.cu). That halves the idle time of copies that run one after another, as
// measured on H200, only in 16 bits. Other trainers have one kernel for all of them
// (torch.nn.functional.grouped_mm).
// Copies in other layers are one batched launch (DeepSeek-V4's output groups: an einsum).
template <typename Product>
Affine OfCopies(const RankSetting& setting, const LayerBuilder::Linear& l, NumberFormat format,
                const Product& of) {
  const int64_t copies = l.copies;
  if (copies == 1 || !l.expert) return of(copies);
  const bool in_turn = !setting.execution.grouped_experts || format != NumberFormat::k16Bit;
  const Affine together = in_turn ? Affine{} : of(copies);
  if (!in_turn && !setting.transformer_engine)
    return {together.constant + kGroupedStartNs, together.per_row};
  Affine apart = of(1);
  apart.constant *= D(copies);
  if (in_turn) return apart;
  return {(apart.constant + together.constant) / 2, (apart.per_row + together.per_row) / 2};
}

}  // namespace

UnfusedSoftmax SoftmaxOf(const Trainer& trainer) {
  if (!trainer.has_record) return UnfusedSoftmax::kUnknown;
  return trainer.megatron_kernels ? UnfusedSoftmax::kMegatron : UnfusedSoftmax::kPyTorch;
}

LayerBuilder::LayerBuilder(const RankSetting& setting, Rows rows, TrainMode train,
                           const LoraSpec& lora)
    : setting_(setting),
      rows_(rows),
      train_(train),
      lora_(lora),
      shard_(setting.execution.sequence_parallel ? 1.0 / D(setting.parallelism.tensor) : 1.0) {}

void LayerBuilder::Begin(const char* name, RecomputeParts repeated_by) {
  work_.operations.push_back({.name = name, .repeated_by = repeated_by});
  kept_value_bytes_ = 0;
}

bool LayerBuilder::trains(uint32_t target) const {
  return train_ == TrainMode::kFull ||
         (train_ == TrainMode::kLora && (lora_.targets & target) != 0);
}

void LayerBuilder::AddLinear(const Linear& l) {
  LayerOperation& op = operation();
  const KernelTime& kernels = setting_.kernels;
  const int64_t rows = EqualRows(l.share / D(l.copies));
  const NumberFormat format = this->format(l.target);
  const auto all = [&](const auto& product) {
    return l.slower * OverRows(OfCopies(setting_, l, format, product), l.share);
  };
  const auto quantise = [&](int64_t width) {
    return OverRows(kernels.Quantise(width, format, setting_.recipe.known_scales), l.share);
  };
  const auto product = [&](int64_t n, int64_t k, NumberFormat of) {
    return all([&](int64_t count) { return kernels.Matrix(n, k, rows, of, count); });
  };
  PackCost forward = product(l.out, l.in, format);
  forward += quantise(l.in);
  op.matrices += forward;
  CountProducts(l, forward);
  if (!l.fixed_input) {
    op.input_gradients += product(l.in, l.out, format);
    op.input_gradients += quantise(l.out);
  }
  const bool adds = setting_.adds_weight_gradients;
  op.weight_gradients += all([&](int64_t count) {
    return kernels.WeightGradient(l.out, l.in, rows, format,
                                  adds ? kValueBytes : 2 * setting_.gradient_bytes, count);
  });
  if (adds) op.weight_gradients.constant += D(l.copies) * AddingNs(setting_, D(l.in) * D(l.out));
  Fill(l.share * D(l.out), l.fixed_input ? 0 : l.share * D(l.in));
  op.weight_trains = l.saved;
  if (format != NumberFormat::k16Bit) op.launches += 1;
  op.flops += PackCost{.per_unit = rows_.per_unit * l.whole_flops,
                       .per_token = rows_.per_token * l.whole_flops};
  op.launches += 1;
  if (train_ == TrainMode::kLora && lora_.base != FrozenFormat::k16Bit && l.target != 0) Unpack(l);
  if (setting_.execution.autocast) AddCasts(l);
  if (l.shared) return;
  const double weight = D(l.in) * D(l.out), bias = l.bias ? D(l.out - l.unbiased) : 0;
  const double parameters = D(l.copies) * (weight + bias);
  if (l.saved) {
    work_.largest_weight = std::max(work_.largest_weight, weight);
    work_.weight_shapes += weight;
    return AddSaved(parameters);
  }
  double trained = train_ == TrainMode::kFull ? parameters : 0;
  work_.parameters += parameters;
  if (l.expert) work_.expert_parameters += parameters;
  work_.quantised = work_.quantised || format != NumberFormat::k16Bit;
  if (l.target != 0) {
    work_.matrix_parameters += D(l.copies) * weight;
    if (l.expert) work_.matrix_expert_parameters += D(l.copies) * weight;
  }
  if (train_ == TrainMode::kFull) {
    work_.largest_weight = std::max(work_.largest_weight, weight);
    work_.weight_shapes += weight;
    work_.trained_tensors += l.copies * (l.bias ? 2 : 1);
  } else if (train_ == TrainMode::kLora && (lora_.targets & l.target) != 0) {
    const int64_t adapters = ModulesOf(l);
    op.adapters += D(adapters) * product(lora_.rank, l.in, NumberFormat::k16Bit);
    op.adapters += product(l.out, lora_.rank, NumberFormat::k16Bit);
    AddAdapterStreams(l, adapters);
    trained = D(l.copies) * D(lora_.rank) * (D(adapters * l.in) + D(l.out));
    work_.parameters += trained;
    if (l.expert) work_.expert_parameters += trained;
    Keep(l.share * D(adapters * lora_.rank));  // between an adapter's two products
  }
  work_.trained_parameters += trained;
  if (l.expert) work_.trained_expert_parameters += trained;
}

// Modules that are not fused have an adapter each for q, k, v, gate and up. Compiling fuses
// kernels, not modules.
int64_t LayerBuilder::ModulesOf(const Linear& l) const {
  if (setting_.execution.fused_kernels && !setting_.separate_projections) return 1;
  return std::max<int64_t>(1, std::count_if(l.products.begin(), l.products.end(),
                                            [](int64_t width) { return width > 0; }));
}

// PEFT's layer (forward of peft/tuners/lora/layer.py): the product of the adapter is scaled and
// added to that of the layer, and the gradients of the input from both are added. Dropout writes a
// copy of the input, which is kept instead of it, and a mask of a byte for each adapter. With fp32
// adapters (_cast_input_dtype), the input is cast to fp32, dropped there, and cast back by
// autocast.
void LayerBuilder::AddAdapterStreams(const Linear& l, int64_t adapters) {
  const bool kept = input_.operation == work_.operations.size();
  const double values = kept ? input_.values : l.share * D(l.in), out = l.share * D(l.out);
  const double in = D(adapters) * values, dropped = lora_.dropout ? 5 * in : 0;
  const bool fp32 = setting_.execution.fp32_adapters;
  const bool casts = fp32 && !setting_.execution.autocast;  // else rows are fp32 already
  // Of each value, a cast to fp32 and one back move 6 bytes each, and dropout moves 9 in place
  // of 5.
  const double cast = !casts ? 0 : lora_.dropout ? 16 * in : 12 * in;
  StreamBytes(10 * out + dropped + cast, 4 * out + 6 * in + dropped + cast);
  // The host's time per operation was fitted with the launches of one adapter for each product.
  operation().launches += (lora_.dropout ? 4 : 3) + (casts ? 2 : 0);
  work_.adapter_matrices += 2 * l.copies * adapters;
  // KeepInput kept one copy.
  const int64_t copies = lora_.dropout || fp32 ? adapters - (kept ? 1 : 0) : 0;
  const double bytes = lora_.dropout ? kDroppedBytes : kValueBytes;
  if (copies > 0) KeepBytes(PerRow(D(copies) * bytes * values), kept ? input_.dropped_by : 0);
}

// The rules of torchtitan's SelectiveAC (distributed/activation_checkpoint.py, 0.3.0): it keeps
// what PyTorch calls compute-intensive, among them products with a bias (addmm), and of products
// without one (mm) every other. Those of torchao's 8-bit tensors are mm too: two published runs
// hold what that gives. Routers and grouped products of experts run again.
void LayerBuilder::CountProducts(const Linear& l, const PackCost& time) {
  LayerOperation& op = operation();
  if (l.expert || l.router) {
    op.products_again += time;
    return;
  }
  if (l.bias) {
    KeepResults(D(l.out) * l.share);
    return;
  }
  const bool one = l.products.front() == 0;
  for (size_t i = 0; i < (one ? 1 : l.products.size()); ++i) {
    const double width = D(one ? l.out : l.products[i]);
    if (width == 0) continue;
    if (products_++ % 2 == 0) {
      KeepResults(width * l.share);
    } else {
      op.products_again += (width / D(l.out)) * time;
    }
  }
}

void LayerBuilder::Unpack(const Linear& l) {
  LayerOperation& op = operation();
  const double weight = D(l.in) * D(l.out), copies = D(l.copies);
  const Affine once =
      setting_.kernels.MemoryBound(kUnpackSlower * (BytesOf(lora_.base) + kValueBytes) * weight);
  const double ns = copies * (once.constant + once.per_row);
  op.matrices.constant += ns;
  op.input_gradients.constant += ns;
  op.launches += 2 * l.copies;  // of bitsandbytes, measured on H100: 105 us per product and pass
  if (l.shared) return;
  work_.packed_format = lora_.base;
  work_.packed_parameters += copies * weight;
  if (l.expert) work_.packed_expert_parameters += copies * weight;
  work_.largest_packed = std::max(work_.largest_packed, weight);
}

void LayerBuilder::AddParameters(double parameters) {
  work_.parameters += parameters;
  if (train_ != TrainMode::kFull) return;
  work_.trained_parameters += parameters;
  ++work_.trained_tensors;
}

void LayerBuilder::AddSaved(double parameters) {
  work_.parameters += 2 * parameters;
  work_.trained_parameters += parameters;
  ++work_.trained_tensors;
}

PackCost LayerBuilder::PerRowOf(const Rows& rows, double value) {
  return {.per_unit = rows.per_unit * rows.share * value,
          .per_token = rows.per_token * rows.share * value};
}

PackCost LayerBuilder::WholeRows(double value) const {
  return {.per_unit = rows_.per_unit * value, .per_token = rows_.per_token * value};
}

PackCost LayerBuilder::OverRows(const Affine& cost, double share) const {
  PackCost pack = PerRow(cost.per_row * share);
  pack.constant = cost.constant;
  return pack;
}

double LayerBuilder::MeanRows() const { return PerRow(1).at(setting_.mean); }

void LayerBuilder::Keep(double values, RecomputeParts dropped_by) {
  KeepBytes(PerRow(kValueBytes * values), dropped_by);
}

void LayerBuilder::KeepInput(double values, uint32_t target, RecomputeParts dropped_by) {
  kept_value_bytes_ = 0;
  if (!trains(target)) return;
  double bytes = KeepsQuantised(target) ? ValueBytesOf(format(target)) : kValueBytes;
  if (train_ == TrainMode::kLora && lora_.dropout) bytes = kDroppedBytes;
  input_ = {values, dropped_by, work_.operations.size()};
  KeepBytes(PerRow(bytes * values), dropped_by);
  kept_value_bytes_ = bytes;
}

void LayerBuilder::KeepQuantised(double values, uint32_t target, RecomputeParts dropped_by) {
  if (trains(target) && KeepsQuantised(target))
    KeepBytes(PerRow(ValueBytesOf(format(target)) * values), dropped_by);
}

bool LayerBuilder::KeepsQuantised(uint32_t target) const {
  return format(target) != NumberFormat::k16Bit && setting_.execution.keeps_quantised_inputs;
}

void LayerBuilder::KeepBytes(const PackCost& bytes, RecomputeParts dropped_by) {
  operation().kept.push_back({bytes, dropped_by});
  kept_value_bytes_ = kValueBytes;
}

void LayerBuilder::Offloads(OffloadModule module) {
  if ((offload_modules_ & module) == 0 || kept_value_bytes_ == 0) return;
  const KeptTensor& kept = operation().kept.back();
  if (kept.bytes.at(setting_.mean) >= kept_value_bytes_ * kLeastOffloadedValues)
    operation().movable.push_back({module, kept.bytes, kept.dropped_by});
}

void LayerBuilder::Offloads(OffloadModule module, std::initializer_list<double> tensors) {
  if ((offload_modules_ & module) == 0 || kept_value_bytes_ == 0) return;
  double values = 0;
  for (const double tensor : tensors) {
    if (PerRow(tensor).at(setting_.mean) >= kLeastOffloadedValues) values += tensor;
  }
  if (values > 0)
    operation().movable.push_back(
        {module, PerRow(kValueBytes * values), operation().kept.back().dropped_by});
}

void LayerBuilder::KeepAlways(double values) {
  const PackCost bytes = PerRow(kValueBytes * values);
  KeepBytes(bytes);
  kept_always_ += bytes;
}

void LayerBuilder::KeepResults(double values) {
  operation().kept_results += PerRow(kValueBytes * values);
}

void LayerBuilder::Stream(double values) {
  StreamBytes(kValueBytes * values, kStreamBackward * kValueBytes * values);
  Fill(values / 2, values / 2);
  operation().launches += 1;
}

void LayerBuilder::Fill(double forward, double backward) {
  const Execution& e = setting_.execution;
  if (e.deterministic && e.fused_kernels)
    StreamBytes(kValueBytes * forward, kValueBytes * backward);
}

void LayerBuilder::StreamBytes(double forward, double backward, double share) {
  const auto over_rows = [&](double bytes) {
    return bytes == 0 ? PackCost{} : OverRows(setting_.kernels.MemoryBound(bytes), share);
  };
  operation().streams += over_rows(forward);
  operation().stream_gradients += over_rows(backward);
}

void LayerBuilder::Transient(double values) {
  operation().transient += PerRow(kValueBytes * values);
}

int64_t LayerBuilder::EqualRows(double share) const {
  return setting_.equal_packs ? Nearest(MeanRows() * share) : 0;
}

// TransformerEngine gathers what it has quantised (gather_along_first_dim of
// pytorch/distributed.py: inputs forward, gradients of outputs backward), and so do torchao's
// Float8ColwiseParallel and Float8RowwiseParallel, which know only one scale per tensor. Sums are
// reduced in 16 bits.
double LayerBuilder::GatheredBytes(bool in_16bit) const {
  const bool quantised = setting_.execution.keeps_quantised_inputs ||
                         setting_.recipe.precision == Precision::kFp8Current;
  return in_16bit || !quantised || !setting_.execution.sequence_parallel
             ? kValueBytes
             : ValueBytesOf(setting_.recipe.products);
}

void LayerBuilder::TensorPass(double width, bool in_16bit) {
  const int64_t ranks = setting_.parallelism.tensor;
  const double rows = MeanRows();
  if (ranks <= 1 || rows <= 0) return;
  // One pass gathers and the other scatters: each is charged half of both.
  const double ns = (setting_.network.NodeCollective(Collective::kAllGather, ranks,
                                                     rows * GatheredBytes(in_16bit) * width) +
                     setting_.network.NodeCollective(Collective::kReduceScatter, ranks,
                                                     rows * kValueBytes * width)) /
                    2;
  LayerOperation& op = operation();
  const bool scatters = op.launches > 0;  // what the products gave
  if (scatters) {
    op.keeps_exchange = true;
    KeepResults(width * shard_);
  }
  op.communication += PerRow(ns / rows);
  if (setting_.execution.copies_tensor_rows) {
    // Read and written, of the half that gathers and of the half that scatters.
    const double bytes = (GatheredBytes(in_16bit) + kValueBytes) * width;
    op.communication += PerRow(setting_.kernels.MemoryBound(bytes).per_row);
  }
  // Without sequence parallelism, the host launches one all-reduce for both passes: after the
  // products forward, and before them backward.
  if (scatters || setting_.execution.sequence_parallel)
    op.launches += CollectiveLaunches(setting_.execution);
  tensor_passes_.push_back({work_.operations.size() - 1, ns, rows_});
}

void LayerBuilder::HideTensorPasses() {
  const double ranks = tensor();
  // TransformerEngine and PyTorch hide less than they could: the parts are short, and PyTorch's
  // also slow the products down.
  const double share = setting_.transformer_engine ? setting_.kernels.constants().engine_overlap
                                                   : setting_.kernels.constants().tensor_overlap;
  for (const Exchanged& pass : tensor_passes_) {
    const double rows = PerRowOf(pass.rows, 1).at(setting_.mean);
    LayerOperation& op = work_.operations[pass.operation];
    const double beside = op.matrices.at(setting_.mean) * (1 - 1 / ranks);
    const double hidden = share * std::min(pass.ns * (1 - 1 / ranks), beside);
    op.communication += PerRowOf(pass.rows, -hidden / rows);
  }
}

double LayerBuilder::Exchange(Collective op, const RankGroup& group, double bytes_per_row,
                              double hidden_ns) {
  const double rows = MeanRows();
  if (group.ranks <= 1 || rows <= 0) return 0;
  const double ns = setting_.network.GroupCollective(op, group, rows * bytes_per_row);
  const double exposed = std::max(0.0, ns - hidden_ns);
  operation().communication += PerRow(exposed / rows);
  operation().launches += 1;
  return exposed;
}

void LayerBuilder::AddGradientExchange(double ns) {
  if (ns > 0) operation().gradient_communication += PerRow(ns / MeanRows());
}

void LayerBuilder::ExpertExchange(double values, int64_t top_k) {
  const Execution& execution = setting_.execution;
  const RoutedRows routed{.rows = MeanRows() / tensor(),
                          .row_bytes = kValueBytes * values,
                          .top_k = top_k,
                          .group = setting_.network.ExpertGroup(
                              setting_.parallelism, std::max<int64_t>(1, execution.expert_tensor))};
  const double ns = DispatchTime(execution.dispatcher, setting_.network, routed);
  if (ns <= 0) return;
  if (!execution.repeats_expert_exchanges) {
    operation().keeps_exchange = true;
    KeepResults(values * D(top_k) / tensor());
  }
  operation().communication += PerRow(ns / MeanRows());
  operation().launches += 1;
  expert_exchanges_.push_back({work_.operations.size() - 1, ns, rows_});
}

void LayerBuilder::ExpertGather(int64_t ranks, double bytes_per_row) {
  const double ns = Exchange(Collective::kAllGather, {ranks, ranks}, bytes_per_row);
  if (ns > 0) expert_exchanges_.push_back({work_.operations.size() - 1, ns, rows_});
}

void LayerBuilder::HideExpertExchanges(size_t from, size_t to) {
  double compute = 0, exchanged = 0;
  for (size_t i = from; i < to; ++i) {
    const LayerOperation& op = work_.operations[i];
    for (const PackCost* cost : {&op.matrices, &op.attention, &op.streams})
      compute += cost->at(setting_.mean);
  }
  for (const Exchanged& exchange : expert_exchanges_) exchanged += exchange.ns;
  if (exchanged <= 0) return;
  const double share = std::min(1.0, compute / exchanged);
  for (const Exchanged& exchange : expert_exchanges_) {
    const double rows = PerRowOf(exchange.rows, 1).at(setting_.mean);
    work_.operations[exchange.operation].communication +=
        PerRowOf(exchange.rows, -share * exchange.ns / rows);
  }
}

LayerWork LayerBuilder::Finish(double width) {
  if (setting_.execution.overlap_tensor) HideTensorPasses();
  const size_t end = work_.operations.size();
  if (setting_.execution.overlap_experts) {
    HideExpertExchanges(0, end);
  } else if (setting_.execution.overlap_shared_expert && shared_from_ > 0) {
    HideExpertExchanges(shared_from_, end - 1);  // the last is the residual's
  }
  const int64_t inputs = work_.expert_parameters > 0 ? 1 : setting_.checkpoint_inputs;
  work_.input_bytes = PerRow(D(inputs) * RowValueBytes(setting_.execution) * width * shard_);
  work_.input_bytes += kept_always_;
  work_.stops_early = setting_.execution.stops_recompute_early;
  return std::move(work_);
}

}  // namespace evenkeel::planner
