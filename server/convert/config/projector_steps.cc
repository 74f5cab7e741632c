#include "server/convert/config/projector_steps.h"

#include <string>
#include <vector>

namespace evenkeel::server {
namespace {

using planner::Split;

constexpr IntRange kWidths = {1, 262144};

// Rows are those of a unit: of a token of the language model at native resolution.
class ProjectorStepsReader {
 public:
  ProjectorStepsReader(ConfigValues& values, ConfigValues& whole, const ConfigEncoder& from,
                       const ConfigJoint& joint, int64_t merged,
                       const planner::LanguageModel& model, planner::EncoderTower* tower)
      : values_(values),
        whole_(whole),
        from_(from),
        joint_(joint),
        merged_(merged),
        hidden_(model.hidden),
        ffn_(model.ffn),
        encoder_(tower->encoder),
        projector_(tower->projector),
        steps_(tower->projector.steps) {}

  void Read() {
    if (joint_.steps == ConfigSteps::kNone) return;
    ReadKind();
    projector_.input_width = projector_.hidden_width = 0;
    projector_.norm = false;
  }

 private:
  void ReadKind() {
    switch (joint_.steps) {
      case ConfigSteps::kNone:
        return;
      case ConfigSteps::kNormAlone:
        return ReadNorm();
      case ConfigSteps::kGatedMerger:
        return ReadGatedMerger();
      case ConfigSteps::kTwoMlps:
        return ReadTwoMlps();
      case ConfigSteps::kTwoLinears:
        return ReadTwoLinears();
      case ConfigSteps::kTwins:
        return ReadTwins();
      case ConfigSteps::kAdapter:
        return ReadAdapter();
      case ConfigSteps::kGatedMlp:
        return ReadGatedMlp();
      case ConfigSteps::kTiles:
        return ReadOutputs();
      case ConfigSteps::kTable:
        return ReadTable();
      case ConfigSteps::kFrames:
        return ReadFrames();
      case ConfigSteps::kResampler:
        return ReadResampler();
    }
  }

  void ReadNorm() {
    if (encoder_.hidden != hidden_)
      values_.Fail(values_.Shown(from_.width) + " must be the decoder's width too");
    steps_ = {
        {.rows = encoder_.tokens_per_unit, .in = encoder_.hidden, .norm_width = encoder_.hidden}};
  }

  void ReadGatedMerger() {
    const int64_t inner = values_.Required(joint_.inner, kWidths) * joint_.inner_times;
    steps_ = {{.in = encoder_.hidden * merged_, .out = hidden_},
              {.in = hidden_, .out = hidden_, .bias = false},
              {.in = hidden_,
               .out = inner,
               .bias = false,
               .gated = true,
               .split = Split::kOutputs,
               .norm_width = hidden_},
              {.in = inner, .out = hidden_, .bias = false, .split = Split::kInputs}};
  }

  void ReadTwoMlps() {
    const int64_t inner = whole_.Required(joint_.inner, kWidths);
    steps_ = {{.rows = merged_, .in = encoder_.hidden, .out = inner, .split = Split::kOutputs},
              {.rows = merged_, .in = inner, .out = hidden_, .split = Split::kInputs},
              {.in = hidden_ * merged_, .out = inner, .split = Split::kOutputs},
              {.in = inner, .out = hidden_, .split = Split::kInputs}};
  }

  void ReadTwoLinears() {
    const int64_t inner = values_.Required(joint_.inner, kWidths);
    steps_ = {{.in = encoder_.hidden, .out = inner}, {.in = inner, .out = hidden_, .bias = false}};
  }

  void ReadTwins() {
    steps_ = {{.in = encoder_.hidden, .out = hidden_, .split = Split::kOutputs},
              {.in = hidden_, .out = hidden_, .split = Split::kInputs}};
    encoder_.other_parameters += (encoder_.hidden + 1) * hidden_ + (hidden_ + 1) * hidden_;
  }

  void ReadFrames() {
    const int64_t merged = encoder_.hidden * merged_;
    values_.Or("temporal_merge_size", {2, 2}, 2);
    steps_ = {{.in = merged, .out = merged, .split = Split::kOutputs},
              {.in = merged, .out = merged, .split = Split::kInputs},
              {.in = 2 * merged, .out = merged, .split = Split::kOutputs, .norm_width = merged},
              {.in = merged, .out = merged, .split = Split::kInputs},
              {.in = merged, .out = hidden_, .norm_width = merged},
              {.in = hidden_, .norm_width = hidden_, .norm = planner::Norm::kRmsNorm}};
  }

  void ReadResampler() {
    constexpr IntRange kHeads = {1, 1024};
    const auto of = [&](const char* key, IntRange range) {
      return whole_.Required(std::string("perceiver_config.") + key, range);
    };
    projector_.resampler = {.layers = of("resampler_depth", {1, 64}),
                            .latents = of("resampler_n_latents", {1, 65536}),
                            .context = encoder_.tokens_per_unit,
                            .width = hidden_,
                            .ffn = 4 * hidden_,
                            .heads = of("resampler_n_heads", kHeads),
                            .kv_heads = of("num_key_value_heads", kHeads),
                            .head_dim = of("resampler_head_dim", {8, 512})};
    whole_.Find("perceiver_config.hidden_size");  // transformers takes that of the language model
    const int64_t rows = encoder_.tokens_per_unit;
    steps_ = {{.rows = rows,
               .in = encoder_.hidden,
               .out = ffn_,
               .bias = false,
               .gated = true,
               .split = Split::kOutputs},
              {.rows = rows, .in = ffn_, .out = hidden_, .bias = false, .split = Split::kInputs}};
    encoder_.llm_tokens_per_unit = projector_.resampler.latents;
    const planner::ResamplerSpec& r = projector_.resampler;
    if (whole_.valid() && r.heads % r.kv_heads != 0)
      whole_.Fail(whole_.Shown("perceiver_config.num_key_value_heads") +
                  " must divide \"resampler_n_heads\"");
  }

  // Llama 4's. transformers builds other widths too, but cannot run them.
  void ReadAdapter() {
    const int64_t merged = encoder_.hidden * merged_, rows = encoder_.llm_tokens_per_unit;
    const int64_t inner = values_.Required(joint_.inner, kWidths);
    if (encoder_.ffn != merged)
      values_.Fail(values_.Shown(from_.ffn) + " must be the width of merged patches, " +
                   std::to_string(merged));
    for (const char* key : {"projector_output_dim", "vision_output_dim"})
      if (values_.Or(key, kWidths, inner) != inner)
        values_.Fail(values_.Shown(key) + " must be " + values_.Shown(joint_.inner) + ", " +
                     std::to_string(inner));
    steps_ = {{.rows = rows, .in = merged, .out = inner, .bias = false, .split = Split::kOutputs},
              {.rows = rows, .in = inner, .out = inner, .bias = false, .split = Split::kInputs},
              {.rows = rows, .in = inner, .out = hidden_, .bias = false}};
  }

  void ReadGatedMlp() {
    const int64_t merged = encoder_.hidden * merged_, rows = encoder_.llm_tokens_per_unit;
    const int64_t halves = whole_.Or(joint_.inner, {2, 262144}, hidden_);
    if (halves % 2 != 0) whole_.Fail(whole_.Shown(joint_.inner) + " must be even");
    steps_ = {{.rows = rows,
               .in = merged,
               .out = halves / 2,
               .gated = true,
               .split = Split::kOutputs,
               .norm_width = joint_.norm ? merged : 0},
              {.rows = rows, .in = halves / 2, .out = hidden_, .split = Split::kInputs}};
  }

  // Outputs of several layers side by side.
  void ReadOutputs() {
    const auto between =
        values_.Numbers("intermediate_layers_indices", {0, 127}).value_or(std::vector<int64_t>{});
    const int64_t width = encoder_.hidden * (static_cast<int64_t>(between.size()) + 1);
    if (values_.Required("vision_output_dim", kWidths) != width)
      values_.Fail(values_.Shown("vision_output_dim") + " must be the width of the layers in " +
                   "\"intermediate_layers_indices\" and of the last one, " + std::to_string(width));
    steps_ = {{.rows = encoder_.tokens_per_unit, .in = width, .out = hidden_}};
  }

  void ReadTable() {
    const int64_t marks = values_.Required("num_visual_indicator_tokens", {0, 4096});
    const int64_t rows = encoder_.llm_tokens_per_unit;
    const int64_t table = values_.Required("vocab_size", {64, 2097152}) - marks;
    if (table < 64) values_.Fail(values_.Shown("vocab_size") + " is too small");
    encoder_.other_parameters += marks * hidden_;
    steps_ = {{.rows = rows, .in = encoder_.hidden * merged_, .out = table, .bias = false},
              {.rows = rows, .in = table, .out = hidden_, .bias = false, .norm_width = table}};
  }

  ConfigValues& values_;
  ConfigValues& whole_;
  const ConfigEncoder& from_;
  const ConfigJoint& joint_;
  const int64_t merged_;
  const int64_t hidden_, ffn_;  // of the language model
  planner::Encoder& encoder_;
  planner::Projector& projector_;
  std::vector<planner::ProjectorStep>& steps_;
};

}  // namespace

void ReadProjectorSteps(ConfigValues& values, ConfigValues& whole, const ConfigEncoder& encoder,
                        const ConfigJoint& joint, int64_t merged,
                        const planner::LanguageModel& model, planner::EncoderTower* tower) {
  ProjectorStepsReader(values, whole, encoder, joint, merged, model, tower).Read();
}

}  // namespace evenkeel::server
