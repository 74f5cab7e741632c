#include "planner/trainer/precision.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace evenkeel::planner {
namespace {

// Weights: fp8_param_gather of Megatron-Bridge's recipes (training/mixed_precision.py). Which
// layers stay in 16 bits, and that all three products are in the format: TransformerEngine's
// recipes (common/recipe/__init__.py).
constexpr std::string_view kSource =
    "Megatron-Bridge training/mixed_precision.py, TransformerEngine common/recipe";

constexpr std::array<PrecisionRecipe, 6> kRecipes = {{
    {.precision = Precision::k16Bit, .name = "16-bit", .title = "16 bits", .source = ""},
    {.precision = Precision::kFp8Delayed,
     .name = "fp8-delayed",
     .title = "FP8, delayed scaling",
     .products = NumberFormat::kFp8,
     .known_scales = true,
     .holds_weights = true,
     .source = kSource},
    {.precision = Precision::kFp8Current,
     .name = "fp8",
     .title = "FP8, current scaling",
     .products = NumberFormat::kFp8,
     .holds_weights = true,
     .source = kSource},
    {.precision = Precision::kFp8Block,
     .name = "fp8-block",
     .title = "FP8, scaled by blocks",
     .products = NumberFormat::kFp8Block,
     .source = kSource},
    {.precision = Precision::kMxfp8,
     .name = "mxfp8",
     .title = "MXFP8",
     .products = NumberFormat::kMxfp8,
     .holds_weights = true,
     .source = kSource},
    {.precision = Precision::kNvfp4,
     .name = "nvfp4",
     .title = "NVFP4",
     .products = NumberFormat::kNvfp4,
     .source = kSource},
}};

}  // namespace

std::span<const PrecisionRecipe> PrecisionRecipes() { return kRecipes; }

const PrecisionRecipe& RecipeOf(Precision precision) {
  return *std::find_if(kRecipes.begin(), kRecipes.end(), [&](const PrecisionRecipe& recipe) {
    return recipe.precision == precision;
  });
}

}  // namespace evenkeel::planner
