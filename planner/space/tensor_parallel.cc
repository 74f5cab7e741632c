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

// Returns the greatest number that divides the heads of attention that every layer of a
// tensor-parallel rank has; with `key_values`, those of keys and values too. Latent attention makes
// as many of these.
int64_t ExchangedHeads(const ModelSpec& model, int64_t tensor, bool key_values) {
  int64_t heads = 0;
  for (const LanguageLayer& layer : ClassesOf(model.language_model)) {
    if (!Attends(layer.mixer)) continue;
    heads = std::gcd(heads, layer.heads / tensor);
    if (key_values && !model.language_model.mla)
      heads = std::gcd(heads, std::max<int64_t>(1, layer.kv_heads / tensor));
  }
  return heads;
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

int64_t HeadRanks(const ModelSpec& model, int64_t tensor, int64_t context,
                  const ContextRules& rules) {
  const int64_t heads = ExchangedHeads(model, tensor, rules.transformer_engine);
  switch (rules.kind) {
    case ContextKind::kUlysses:
      return context;
    case ContextKind::kHierarchical:
      return std::gcd(std::gcd(context, rules.ranks_per_node), heads);
    case ContextKind::kUlyssesOrRing: {
      // TransformerEngine up to 2.17 exchanges no heads whose keys and values differ in width.
      const bool rings = rules.transformer_engine && model.language_model.mla.has_value();
      return !rings && heads % context == 0 ? context : 1;
    }
    case ContextKind::kRing:
    case ContextKind::kAllGather:
      break;
  }
  return 1;
}

ContextFault ContextFaultOf(const ModelSpec& model, int64_t tensor, int64_t context,
                            const ContextRules& rules) {
  if (context == 1) return ContextFault::kNone;
  const LanguageModel& m = model.language_model;
  bool windows = false, sinks = false;
  for (const LanguageLayer& layer : ClassesOf(m)) {
    if (Recurs(layer.mixer) && !HeadsDivide(*m.recurrent, tensor * context))
      return ContextFault::kRecurrentHeads;
    if (!Attends(layer.mixer)) continue;
    windows = windows || layer.attention == AttentionKind::kWindow;
    sinks = sinks || layer.sinks || m.attention_sinks;
  }
  const bool ulysses = rules.kind == ContextKind::kUlysses;
  if ((ulysses || rules.kind == ContextKind::kUlyssesOrRing) &&
      ExchangedHeads(model, tensor, false) % context != 0)
    return ContextFault::kHeads;
  if (ulysses && ExchangedHeads(model, tensor, rules.transformer_engine) % context != 0)
    return ContextFault::kKeyValueHeads;
  if (!rules.transformer_engine || HeadRanks(model, tensor, context, rules) == context)
    return ContextFault::kNone;
  if (sinks) return ContextFault::kSinks;
  return windows && rules.kind != ContextKind::kAllGather ? ContextFault::kWindows
                                                          : ContextFault::kNone;
}

}  // namespace evenkeel::planner
