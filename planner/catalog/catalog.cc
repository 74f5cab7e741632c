#include "planner/catalog/catalog.h"

#include <algorithm>
#include <utility>

#include "planner/base/name_search.h"

namespace evenkeel::planner {

const LanguageModelEntry* FindLanguageModel(std::string_view name) {
  return FindByName(LanguageModels(), name);
}

const EncoderEntry* FindEncoder(std::string_view name) { return FindByName(Encoders(), name); }

const VisionLanguageEntry* FindVisionLanguageModel(std::string_view name) {
  return FindByName(VisionLanguageModels(), name);
}

Projector DefaultProjector(const Encoder& encoder, int64_t llm_hidden) {
  const int64_t patches = encoder.tokens_per_unit - encoder.class_tokens;
  const int64_t merged = std::max<int64_t>(encoder.llm_tokens_per_unit, 1);
  // Rounds to nearest, so that one token more or less does not change how many are merged.
  const int64_t merge = std::max<int64_t>((patches + merged / 2) / merged, 1);
  if (encoder.native_resolution) {  // as Qwen2-VL's merger
    return {.input_width = merge * encoder.hidden,
            .hidden_width = merge * encoder.hidden,
            .norm = true,
            .norm_kind = encoder.norm,
            .norm_width = encoder.hidden};
  }
  return {.input_width = merge * encoder.hidden, .hidden_width = llm_hidden, .norm = merge > 1};
}

}  // namespace evenkeel::planner
