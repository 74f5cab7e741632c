#include "planner/space/tensor_parallel.h"

namespace evenkeel::planner {

bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor) {
  const LanguageModel& m = model.language_model;
  const bool kv = m.kv_heads % tensor == 0 || tensor % m.kv_heads == 0;
  return m.heads % tensor == 0 && (m.mla || kv) && m.hidden % tensor == 0;
}

}  // namespace evenkeel::planner
