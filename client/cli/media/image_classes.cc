// The known classes of image processors, and the processors that they may belong to.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/media/rules.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMostOwners = 5;

// Processors share classes of image processors, but may write other marks around an image.
struct KnownImageProcessor {
  std::string_view type;
  ImageRule (*make)(const RuleSource&);
  std::string_view owners[kMostOwners];
};
constexpr KnownImageProcessor kImageProcessors[] = {
    {"Qwen2VLImageProcessor",
     PixelBudgetRule,
     {"Qwen2VLProcessor", "Qwen2_5_VLProcessor", "Qwen3VLProcessor", "Qwen2_5OmniProcessor",
      "Qwen3OmniMoeProcessor"}},
    {"Glm4vImageProcessor", TemporalBudgetRule, {"Glm4vProcessor"}},
    {"Glm46VImageProcessor", TemporalBudgetRule, {"Glm46VProcessor"}},
    {"PixtralImageProcessor", LongestEdgeRule, {"PixtralProcessor"}},
    {"GotOcr2ImageProcessor", TilesRule, {"InternVLProcessor"}},
    {"Idefics3ImageProcessor", SplitsRule, {"Idefics3Processor", "SmolVLMProcessor"}},
    {"SmolVLMImageProcessor", SplitsRule, {"SmolVLMProcessor", "Idefics3Processor"}},
    {"CLIPImageProcessor", OneUnitRule, {"LlavaProcessor", "CLIPProcessor"}},
    {"SiglipImageProcessor",
     OneUnitRule,
     {"PaliGemmaProcessor", "SiglipProcessor", "LlavaProcessor", "Gemma3nProcessor"}},
    {"Gemma3ImageProcessor", GemmaRule, {"Gemma3Processor", "ShieldGemma2Processor"}},
    {"LlavaNextImageProcessor", LlavaNextRule, {"LlavaNextProcessor"}},
    {"LlavaOnevisionImageProcessor", OneVisionRule, {"LlavaOnevisionProcessor"}},
    {"Llama4ImageProcessor", Llama4Rule, {"Llama4Processor"}},
    {"KimiVLImageProcessor", KimiRule, {"KimiVLProcessor"}},
    {"Kimi_K25ImageProcessor", KimiK25Rule, {"Kimi_K25Processor"}},
};

void CheckOwner(const KnownImageProcessor& known, const std::string& owner) {
  if (owner.empty()) return;
  std::vector<std::string> accepted;
  for (const std::string_view name : known.owners) {
    if (name == owner) return;
    if (!name.empty()) accepted.emplace_back(name);
  }
  Refuse(
      fmt::format("\"processor_class\" is \"{}\", whose marks around images of {} are not known; "
                  "accepted: {}",
                  owner, known.type, absl::StrJoin(accepted, ", ")));
}

}  // namespace

ImageRule MakeImageRule(const std::string& type, const RuleSource& from) {
  std::vector<std::string> accepted;
  for (const KnownImageProcessor& known : kImageProcessors) {
    if (known.type == type) {
      CheckOwner(known, from.owner);
      return known.make(from);
    }
    accepted.emplace_back(known.type);
  }
  Refuse(fmt::format("\"image_processor_type\" is \"{}\", which is not known; accepted: {}", type,
                     absl::StrJoin(accepted, ", ")));
}

}  // namespace evenkeel::cli
