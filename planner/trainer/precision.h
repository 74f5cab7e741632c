// Precision recipes: which number formats a trainer's products, weights and kept inputs have.
// Adding a recipe means adding a record.
#ifndef EVENKEEL_PLANNER_TRAINER_PRECISION_H_
#define EVENKEEL_PLANNER_TRAINER_PRECISION_H_

#include <span>
#include <string_view>

#include "planner/base/number_format.h"

namespace evenkeel::planner {

enum class Precision { k16Bit, kFp8Delayed, kFp8Current, kFp8Block, kMxfp8, kNvfp4 };

// Linear layers of transformer layers multiply in `products`, forward and backward. Attention,
// routers, embeddings, the head and LoRA's matrices stay in 16 bits.
struct PrecisionRecipe {
  Precision precision = Precision::k16Bit;
  std::string_view name;   // short, such as "mxfp8"
  std::string_view title;  // for people
  NumberFormat products = NumberFormat::k16Bit;
  // Scales come from earlier steps, so quantising does not look for a tensor's largest value first.
  bool known_scales = false;
  // Trainers that hold weights in the products' format do so with this recipe.
  bool holds_weights = false;
  std::string_view source;
};

// Returns all recipes, that of 16 bits first.
std::span<const PrecisionRecipe> PrecisionRecipes();

const PrecisionRecipe& RecipeOf(Precision precision);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_PRECISION_H_
