// The parts that conformers add to transformers: section 1.1 of docs/COST_MODEL.md.
#include "planner/base/integers.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {

void AddFirstMlp(LayerBuilder& b, const Encoder& e) {
  AddMlp(b, {.hidden = e.hidden,
             .ffn = e.ffn,
             .gated = e.gated_mlp,
             .bias = e.linear_bias,
             .norm = e.norm});
}

// A convolution moves its rows; its products are few. Its channels are split over tensor-parallel
// ranks, as an MLP of the encoder's width would be.
void AddConvolution(LayerBuilder& b, const Encoder& e) {
  const ConformerSpec& c = e.conformer;
  const int64_t width = CeilDivide(e.hidden, b.setting().parallelism.tensor);
  const double h = D(e.hidden), w = D(width), shard = b.shard();
  b.Begin("convolution norm", kNorms);
  b.AddNorm(e.norm, h, shard);
  b.Begin("convolution in");
  b.KeepInput(h * b.gathered_shard(), kLoraMlpUp, kNorms);
  if (b.gathers()) b.TensorPass(h);
  b.AddLinear({.in = e.hidden,
               .out = 2 * width,
               .whole_flops = 4 * h * h,
               .bias = e.linear_bias,
               .target = kLoraMlpUp});
  b.Transient(2 * w + 2 * h);
  b.Begin("convolution");
  b.AddParameters(w * D(c.conv_width + (c.conv_bias ? 1 : 0)) + D(c.other_parameters));
  b.operation().flops += b.WholeRows(2 * h * D(c.conv_width));
  b.Keep(4 * w);  // both halves, what they give, and the convolution's output
  b.Stream(8 * w);
  b.Transient(3 * w);
  for (int64_t i = 0; i < c.pointwise; ++i) {
    b.Begin("convolution out");
    b.KeepInput(w, kLoraMlpDown);
    b.AddLinear({.in = width,
                 .out = e.hidden,
                 .whole_flops = 2 * h * h,
                 .bias = e.linear_bias,
                 .target = kLoraMlpDown});
    if (b.gathers()) b.TensorPass(h);
    b.Transient(w + 2 * h);
  }
  AddResidual(b, e.hidden);
}

}  // namespace evenkeel::planner
