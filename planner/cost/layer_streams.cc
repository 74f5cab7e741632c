// Passes of LayerBuilder that move bytes and multiply nothing: norms, and casts under autocast.
#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/layer_builder.h"

namespace evenkeel::planner {
namespace {

// Bytes per value, at the rate of streaming kernels, that PyTorch's own kernels take forward and
// backward: measured on H100 (tests/measure/h100.jsonl, section "streaming"). The RMSNorm is
// Hugging Face's, of seven kernels. PyTorch's own is taken to be like its LayerNorm.
constexpr double kLayerNormBytes[] = {5.2, 13};
constexpr double kRmsNormBytes[] = {42, 98};

// Bytes per value that a cast between fp32 and 16 bits reads and writes.
constexpr double kAutocastBytes = 6;

}  // namespace

// Each cast reads 4 bytes and writes 2, or the reverse for gradients. The output of norms is fp32:
// eager modules cast it for each product, and each copy is kept. Compiled ones cast it in the
// norm's kernel.
void LayerBuilder::AddCasts(const Linear& l) {
  LayerOperation& op = operation();
  const double weights = D(l.copies) * D(l.in) * D(l.out);
  const auto pass = [&](double bytes) {
    const Affine once = setting_.kernels.MemoryBound(bytes);
    return once.constant + once.per_row;
  };
  const bool packed = train_ == TrainMode::kLora && lora_.base != FrozenFormat::k16Bit;
  if (!packed) {
    op.streams.constant += pass(kAutocastBytes * weights);
    work_.cast_parameters += weights;
    op.launches += 1;
    if (setting_.keeps_cast_weights)
      op.kept.push_back({{.constant = kValueBytes * weights}, op.repeated_by});
  }
  if (train_ == TrainMode::kFull) op.stream_gradients.constant += pass(kAutocastBytes * weights);
  const bool of_norm = (l.target & (kLoraQkv | kLoraMlpUp)) != 0 && !l.expert;
  if (!of_norm || setting_.execution.fused_kernels) return;
  const double products = D(ModulesOf(l)), values = l.share * D(l.in);
  StreamBytes(products * kAutocastBytes * values, (2 * products - 1) * kAutocastBytes * values);
  op.launches += ModulesOf(l);
  if (train_ == TrainMode::kFull && input_.operation == work_.operations.size())
    KeepBytes(PerRow((products - 1) * kValueBytes * input_.values), input_.dropped_by);
}

void LayerBuilder::AddNorm(Norm norm, double width, double share) {
  AddParameters(norm == Norm::kLayerNorm ? 2 * width : width);
  AddNormRows(norm, width, share);
  if (!setting_.execution.autocast) return;
  // Rows in fp32. Hugging Face's RMSNorm has them in any case, but keeps the normalised ones in
  // 16 bits otherwise.
  const bool eager_rms = norm == Norm::kRmsNorm && !setting_.execution.fused_kernels &&
                         setting_.execution.rms_norm_bytes == 0;
  if (!eager_rms) StreamBytes(2 * kValueBytes * width, 3 * kValueBytes * width, share);
  if (!eager_rms || train_ == TrainMode::kFull) Keep(width * share);
}

void LayerBuilder::AddNormRows(Norm norm, double width, double share) {
  const bool layer_norm = norm == Norm::kLayerNorm, eager = !setting_.execution.fused_kernels;
  if (FusesNorms(setting_.execution)) {
    Stream(2 * width * share);
  } else {
    operation().launches += 1;
    const bool one = layer_norm || setting_.execution.rms_norm_bytes > 0;
    const double* const bytes = one ? kLayerNormBytes : kRmsNormBytes;
    StreamBytes(bytes[0] * width, bytes[1] * width, share);
  }
  // Its input; the output belongs to the product that reads it. Hugging Face's RMSNorm keeps the
  // input as fp32, and the normalised rows before the weight if that trains. Where eager modules
  // have fused norms, copies of queries, keys and values hold as much (nanotron's published peaks).
  const double usual = layer_norm || !eager ? 1 : train_ == TrainMode::kFull ? 3 : 2;
  const double given = eager && !layer_norm ? setting_.execution.rms_norm_bytes : 0;
  Keep((given > 0 ? given / kValueBytes : usual) * width * share);
}

}  // namespace evenkeel::planner
