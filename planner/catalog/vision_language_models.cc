// Published pairings of an encoder with a language model.
#include <vector>

#include "planner/catalog/catalog.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {
namespace {

// Fills in the dimensions of both halves, which the entry names by slug.
VisionLanguageEntry Complete(VisionLanguageEntry entry, const Projector& projector) {
  entry.spec.towers = {{FindEncoder(entry.encoder)->spec, projector}};
  entry.spec.language_model = FindLanguageModel(entry.language_model)->spec;
  return entry;
}

// For models that scale each image to the size of one unit.
VisionLanguageEntry WithoutTiles(VisionLanguageEntry entry) {
  entry.spec.towers.front().encoder.image_is_unit = true;
  return entry;
}

}  // namespace

const std::vector<VisionLanguageEntry>& VisionLanguageModels() {
  static const auto& models = *new const std::vector<VisionLanguageEntry>{
      // Trained on up to 12 tiles per image, plus a thumbnail if there is more than one. 2x2 pixel
      // shuffle makes 12800 channels of 3200.
      Complete({.spec = {.name = "internvl-chat-v1.5", .towers = {}, .language_model = {}},
                .aliases = {"internvl-chat-1.5", "internvl-chat-v1-5", "internvl-1.5",
                            "internvl1.5", "internvl-v1.5", "opengvlab/internvl-chat-v1-5"},
                .encoder = "internvit-6b-448px-v1.5",
                .language_model = "internlm2-20b",
                .source = "OpenGVLab/InternVL internvl_chat modeling_internvl_chat.py"},
               {.input_width = 12800, .hidden_width = 6144, .norm = true}),
      WithoutTiles(Complete(
          {.spec = {.name = "llava-1.5-7b", .towers = {}, .language_model = {}},
           .aliases = {"llava-v1.5-7b", "liuhaotian/llava-v1.5-7b", "llava-hf/llava-1.5-7b-hf"},
           .encoder = "clip-vit-l-14-336",
           .language_model = "vicuna-7b-v1.5",
           .source = "haotian-liu/LLaVA"},
          {.input_width = 1024, .hidden_width = 4096})),
      WithoutTiles(Complete(
          {.spec = {.name = "llava-1.5-13b", .towers = {}, .language_model = {}},
           .aliases = {"llava-v1.5-13b", "liuhaotian/llava-v1.5-13b", "llava-hf/llava-1.5-13b-hf"},
           .encoder = "clip-vit-l-14-336",
           .language_model = "vicuna-13b-v1.5",
           .source = "haotian-liu/LLaVA"},
          {.input_width = 1024, .hidden_width = 5120})),
  };
  return models;
}

}  // namespace evenkeel::planner
