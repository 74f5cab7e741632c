// Encoders of audio.
#include "server/convert/config_encoders.h"

namespace evenkeel::server {
namespace {

// Whisper's: keys have no bias.
ConfigEncoder Whisper(std::string_view model_type) {
  return {.model_type = model_type,
          .modality = planner::Modality::kAudio,
          .defaults = R"({"num_mel_bins":128,"encoder_layers":32,"encoder_attention_heads":20,
                          "encoder_ffn_dim":5120,"d_model":1280,"max_source_positions":1500})",
          .layers = "encoder_layers",
          .width = "d_model",
          .heads = "encoder_attention_heads",
          .ffn = "encoder_ffn_dim",
          .key_bias = false,
          .unread = {"encoder_layerdrop"}};
}

// Audio of any length, in chunks. Its positions are computed.
ConfigEncoder Chunked(std::string_view model_type, std::string_view defaults) {
  ConfigEncoder encoder = Whisper(model_type);
  encoder.defaults = defaults;
  encoder.output = "output_dim";
  encoder.native = true;
  encoder.chunk = "n_window";
  return encoder;
}

}  // namespace

std::vector<ConfigEncoder> AudioEncoders() {
  ConfigEncoder qwen3 =
      Chunked("qwen3_omni_moe_audio_encoder",
              R"({"num_mel_bins":128,"encoder_layers":32,"encoder_attention_heads":20,
                  "encoder_ffn_dim":5120,"d_model":1280,"n_window":50,"n_window_infer":800,
                  "output_dim":3584,"downsample_hidden_size":480})");
  qwen3.key_bias = true;
  qwen3.reach = "n_window_infer";
  qwen3.channels = "downsample_hidden_size";
  qwen3.unread.push_back("conv_chunksize");
  ConfigEncoder qwen2_audio = Whisper("qwen2_audio_encoder");
  qwen2_audio.position_rows = "max_source_positions";
  return {
      Chunked("qwen2_5_omni_audio_encoder",
              R"({"num_mel_bins":128,"encoder_layers":32,"encoder_attention_heads":20,
                  "encoder_ffn_dim":5120,"d_model":1280,"n_window":100,"output_dim":3584})"),
      qwen3,
      qwen2_audio,
      {.model_type = "voxtral_encoder",
       .modality = planner::Modality::kAudio,
       .defaults = R"({"num_mel_bins":128,"num_hidden_layers":32,"num_attention_heads":20,
                       "intermediate_size":5120,"hidden_size":1280,"max_source_positions":1500})",
       .key_bias = false,
       .position_rows = "max_source_positions",
       .norms = 1,
       .unread = {"vocab_size", "layerdrop", "head_dim", "num_key_value_heads"}},
  };
}

}  // namespace evenkeel::server
