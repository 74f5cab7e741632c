// Dimensions of vision encoders. Published totals are rounded publisher figures.
#include <vector>

#include "planner/base/concatenate.h"
#include "planner/catalog/catalog.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {
namespace {

std::vector<EncoderEntry> InternVitEncoders() {
  return {
      // V1-2 and later drop the last 3 of 48 blocks. The 1025 tokens without the class token become
      // 256 by 2x2 pixel shuffle.
      {.spec = {.name = "internvit-6b-448px-v1.5",
                .layers = 45,
                .hidden = 3200,
                .heads = 25,
                .head_dim = 128,
                .ffn = 12800,
                .norm = Norm::kRmsNorm,
                .qkv_bias = false,
                .qk_norm = true,
                .layer_scale = true,
                .patch_pixels = 14,
                .tokens_per_unit = 1025,
                .llm_tokens_per_unit = 256},
       .aliases = {"internvit-6b", "internvit-6b-448px-v1-5", "opengvlab/internvit-6b-448px-v1-5",
                   "internvit-6b-448px-v1-2", "opengvlab/internvit-6b-448px-v1-2"},
       .published_parameters = 5540000000,
       .source = "OpenGVLab InternViT-6B-448px-V1-5 configuration; OpenGVLab/InternVL "
                 "modeling_intern_vit.py"},
      // No pixel shuffle was published at 224 px: 256 patches merge 2x2 to 64.
      {.spec = {.name = "internvit-6b-224px",
                .layers = 48,
                .hidden = 3200,
                .heads = 25,
                .head_dim = 128,
                .ffn = 12800,
                .norm = Norm::kRmsNorm,
                .qkv_bias = false,
                .qk_norm = true,
                .layer_scale = true,
                .patch_pixels = 14,
                .tokens_per_unit = 257,
                .llm_tokens_per_unit = 64},
       .aliases = {"opengvlab/internvit-6b-224px"},
       .published_parameters = 5903000000,
       .source = "OpenGVLab/InternVL InternViT-6B-224px configuration"},
      {.spec = {.name = "internvit-300m-448px",
                .layers = 24,
                .hidden = 1024,
                .heads = 16,
                .head_dim = 64,
                .ffn = 4096,
                .layer_scale = true,
                .patch_pixels = 14,
                .tokens_per_unit = 1025,
                .llm_tokens_per_unit = 256},
       .aliases = {"internvit-300m", "opengvlab/internvit-300m-448px"},
       .published_parameters = 304000000,
       .source = "OpenGVLab InternViT-300M-448px configuration"},
  };
}

std::vector<EncoderEntry> ClipAndSiglipEncoders() {
  return {
      // LLaVA reads the penultimate layer, so the work of the last block is not needed. The
      // published total includes the norms before and after the blocks (4096 weights).
      {.spec = {.name = "clip-vit-l-14-336",
                .layers = 24,
                .hidden = 1024,
                .heads = 16,
                .head_dim = 64,
                .ffn = 4096,
                .patch_pixels = 14,
                .patch_bias = false,
                .tokens_per_unit = 577,
                .llm_tokens_per_unit = 576},
       .aliases = {"clip-vit-l-336", "clip-vit-l-336px", "clip-vit-large-patch14-336",
                   "openai/clip-vit-large-patch14-336"},
       .published_parameters = 303507456,
       .source =
           "openai/clip-vit-large-patch14-336 configuration; NVIDIA/NeMo vlm/vision/clip_vit.py"},
      // 27 x 27 patches (384 is not a multiple of 14). The published total includes the attention
      // pool head and last norm (15240656 weights), which no language model uses.
      {.spec = {.name = "siglip-so400m-384",
                .layers = 27,
                .hidden = 1152,
                .heads = 16,
                .head_dim = 72,
                .ffn = 4304,
                .patch_pixels = 14,
                .class_tokens = 0,
                .tokens_per_unit = 729,
                .llm_tokens_per_unit = 729},
       .aliases = {"siglip-so400m", "siglip-so400m-patch14-384",
                   "google/siglip-so400m-patch14-384"},
       .published_parameters = 428225600,
       .source =
           "google/siglip-so400m-patch14-384 configuration; NVIDIA/NeMo vlm/vision/siglip_vit.py"},
  };
}

std::vector<EncoderEntry> QwenEncoders() {
  return {
      // Native resolution: (height / 14) x (width / 14) patches, sides rounded to multiples of 28;
      // 2 x 2 patches become a token of the language model. The published total includes the merger
      // of the 7B model (5120 -> 5120 -> 3584).
      {.spec = {.name = "qwen2-vl-vit",
                .layers = 32,
                .hidden = 1280,
                .heads = 16,
                .head_dim = 80,
                .ffn = 5120,
                .patch_pixels = 14,
                .temporal_patch = 2,
                .patch_bias = false,
                .class_tokens = 0,
                .learned_positions = false,
                .tokens_per_unit = 4,
                .llm_tokens_per_unit = 1,
                .native_resolution = true},
       .aliases = {"qwen2-vl-vision"},
       .published_parameters = 675000000,
       .source = "NVIDIA/NeMo vlm/qwen2vl/model/vision.py; Qwen2-VL configuration"},
      // Native resolution, as above. Attention stays inside windows of 8 x 8 patches except in
      // blocks 7, 15, 23 and 31. Some ports of the 72B release say ffn 3456, which is not
      // confirmed.
      {.spec = {.name = "qwen2.5-vl-vit",
                .layers = 32,
                .hidden = 1280,
                .heads = 16,
                .head_dim = 80,
                .ffn = 3420,
                .gated_mlp = true,
                .norm = Norm::kRmsNorm,
                .patch_pixels = 14,
                .temporal_patch = 2,
                .patch_bias = false,
                .class_tokens = 0,
                .learned_positions = false,
                .tokens_per_unit = 4,
                .llm_tokens_per_unit = 1,
                .native_resolution = true,
                .window_tokens = 64,
                .full_layers = {7, 15, 23, 31}},
       .aliases = {"qwen2.5-vl-vision"},
       .source = "Qwen2.5-VL vision configuration"},
  };
}

// Published at 224 px without a language model: 16 x 16 patches, of which 2x2 pixel shuffle would
// leave 64. OmniBal runs them at 448 px (1025 tokens, 256 for the language model): override the
// token counts for that.
std::vector<EncoderEntry> EvaEncoders() {
  return {
      {.spec = {.name = "eva-clip-1b",
                .layers = 40,
                .hidden = 1408,
                .heads = 16,
                .head_dim = 88,
                .ffn = 6144,
                .patch_pixels = 14,
                .tokens_per_unit = 257,
                .llm_tokens_per_unit = 64},
       .aliases = {"eva01-clip-g-14"},
       .published_parameters = 1011000000,
       .source = "baaivision/EVA EVA-CLIP model_configs EVA01-CLIP-g-14"},
      // bigE-plus (often called 5B) has the same vision tower and a bigger text tower.
      {.spec = {.name = "eva-clip-4b",
                .layers = 64,
                .hidden = 1792,
                .heads = 16,
                .head_dim = 112,
                .ffn = 15360,
                .patch_pixels = 14,
                .tokens_per_unit = 257,
                .llm_tokens_per_unit = 64},
       .aliases = {"eva02-clip-bige-14", "eva02-clip-bige-14-plus", "eva-clip-5b"},
       .published_parameters = 4350000000,
       .source = "baaivision/EVA EVA-CLIP model_configs EVA02-CLIP-bigE-14"},
      {.spec = {.name = "eva-clip-8b",
                .layers = 32,
                .hidden = 4096,
                .heads = 32,
                .head_dim = 128,
                .ffn = 20480,
                .norm = Norm::kRmsNorm,
                .qkv_bias = false,
                .patch_pixels = 14,
                .tokens_per_unit = 257,
                .llm_tokens_per_unit = 64},
       .aliases = {"baai/eva-clip-8b"},
       .published_parameters = 7500000000,
       .source = "baaivision/EVA EVA-CLIP-18B model_configs EVA-CLIP-8B"},
      {.spec = {.name = "eva-clip-18b",
                .layers = 48,
                .hidden = 5120,
                .heads = 40,
                .head_dim = 128,
                .ffn = 25600,
                .norm = Norm::kRmsNorm,
                .qkv_bias = false,
                .patch_pixels = 14,
                .tokens_per_unit = 257,
                .llm_tokens_per_unit = 64},
       .aliases = {"baai/eva-clip-18b"},
       .published_parameters = 17500000000,
       .source = "baaivision/EVA EVA-CLIP-18B model_configs EVA-CLIP-18B"},
  };
}

}  // namespace

const std::vector<EncoderEntry>& Encoders() {
  static const auto& encoders = *new const std::vector<EncoderEntry>(Concatenate<EncoderEntry>(
      {InternVitEncoders, ClipAndSiglipEncoders, QwenEncoders, EvaEncoders}));
  return encoders;
}

}  // namespace evenkeel::planner
