#include "planner/space/tensor_parallel.h"

#include <algorithm>
#include <vector>

#include "planner/model/layer_runs.h"

namespace evenkeel::planner {

bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor) {
  const LanguageModel& m = model.language_model;
  const std::vector<LanguageLayer> classes = ClassesOf(m);
  return m.hidden % tensor == 0 &&
         std::all_of(classes.begin(), classes.end(), [&](const LanguageLayer& layer) {
           const bool kv = layer.kv_heads % tensor == 0 || tensor % layer.kv_heads == 0;
           return layer.heads % tensor == 0 && (m.mla || kv);
         });
}

bool HeadExchangeAllowed(const ModelSpec& model, int64_t tensor, int64_t context) {
  const std::vector<LanguageLayer> classes = ClassesOf(model.language_model);
  return std::all_of(classes.begin(), classes.end(), [&](const LanguageLayer& layer) {
    return layer.heads / tensor % context == 0;
  });
}

}  // namespace evenkeel::planner
