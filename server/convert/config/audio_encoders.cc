// Encoders of audio.
#include "server/convert/config/encoders.h"

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
  ConfigEncoder whisper = Whisper("whisper");
  whisper.defaults = R"({"num_mel_bins":80,"encoder_layers":4,"encoder_attention_heads":6,
                         "encoder_ffn_dim":1536,"d_model":384,"max_source_positions":1500})";
  whisper.position_rows = "max_source_positions";
  // Keys of the decoder, and of the part that reads the encoder in place of a decoder.
  for (const char* key :
       {"decoder_layers", "decoder_attention_heads", "decoder_ffn_dim", "decoder_layerdrop",
        "max_target_positions", "vocab_size", "use_weighted_layer_sum", "classifier_proj_size",
        "median_filter_width", "hidden_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads"})
    whisper.unread.push_back(key);
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
      whisper,
      {.model_type = "gemma4_audio",
       .modality = planner::Modality::kAudio,
       .defaults = R"({"hidden_size":1024,"num_hidden_layers":12,"num_attention_heads":8,
                       "subsampling_conv_channels":[128,32],"conv_kernel_size":5,
                       "attention_chunk_size":12,"attention_context_left":13,
                       "attention_context_right":0,"output_proj_dims":1536})",
       .norm = planner::Norm::kRmsNorm,
       .qkv_bias = {},
       .linear_bias = false,
       .layer_norms = 9,
       .native = true,
       .conformer = ConfigConformer::kChunks},
      {.model_type = "phi4_multimodal_audio",
       .modality = planner::Modality::kAudio,
       .defaults = R"({"hidden_size":1024,"num_blocks":24,"num_attention_heads":16,
                       "intermediate_size":1536,"kernel_size":3,"input_size":80,
                       "nemo_conv_channels":1024,"bias_max_distance":1000,
                       "bias_symmetric":false})",
       .layers = "num_blocks",
       .gated = true,
       .layer_norms = 5,
       .native = true,
       .conformer = ConfigConformer::kSeparable,
       .unread = {"chunk_size", "feature_layer", "conv_activation", "conv_glu_type",
                  "nemo_final_size", "nemo_activation"}},
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
