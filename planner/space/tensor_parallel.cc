#include "planner/space/tensor_parallel.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "planner/model/layer_runs.h"

namespace evenkeel::planner {
namespace {

// Ranks share the value heads; fewer key heads than ranks are copied.
bool HeadsDivide(const RecurrentSpec& recurrent, int64_t ranks) {
  const int64_t keys = recurrent.key_heads;
  return recurrent.value_heads % ranks == 0 && (keys % ranks == 0 || ranks % keys == 0);
}

}  // namespace

bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor) {
  const LanguageModel& m = model.language_model;
  const std::vector<LanguageLayer> classes = ClassesOf(m);
  return m.hidden % tensor == 0 &&
         std::all_of(classes.begin(), classes.end(), [&](const LanguageLayer& layer) {
           if (Recurs(layer.mixer) && !HeadsDivide(*m.recurrent, tensor)) return false;
           if (!Attends(layer.mixer)) return true;
           if (m.compressed && m.compressed->out_groups % tensor != 0) return false;
           const bool kv = layer.kv_heads % tensor == 0 || tensor % layer.kv_heads == 0;
           return layer.heads % tensor == 0 && (m.mla || kv);
         });
}

bool ContextParallelAllowed(const ModelSpec& model, int64_t tensor, int64_t context,
                            bool any_degree) {
  const LanguageModel& m = model.language_model;
  const std::vector<LanguageLayer> classes = ClassesOf(m);
  return std::all_of(classes.begin(), classes.end(), [&](const LanguageLayer& layer) {
    if (Recurs(layer.mixer) && !HeadsDivide(*m.recurrent, tensor * context)) return false;
    return !Attends(layer.mixer) || any_degree || layer.heads / tensor % context == 0;
  });
}

int64_t HeadRanks(const ModelSpec& model, int64_t tensor, int64_t context, int64_t per_node) {
  int64_t ranks = std::gcd(context, per_node);
  for (const LanguageLayer& layer : ClassesOf(model.language_model)) {
    if (Attends(layer.mixer)) ranks = std::gcd(ranks, layer.heads / tensor);
  }
  return ranks;
}

}  // namespace evenkeel::planner
