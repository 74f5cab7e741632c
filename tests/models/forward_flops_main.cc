// Prints the FLOPs of a model's forward pass over one sample, operation by operation, as JSON. All
// tokens see all others, as in eager attention: windows, entries and indices leave nothing out.
//
//   forward_flops CONFIG.json TOKENS [UNITS]
//
// With UNITS of its encoder, that runs too, and attends as the planner says. Its operations begin
// with "encoder: ".
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "planner/cost/end_layers.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "planner/cost/transformer_layer.h"
#include "planner/model/layer_runs.h"
#include "server/convert/config/model_config.h"
#include "tests/planner/jobs.h"

namespace evenkeel {
namespace {

using planner::LanguageModel;
using planner::LayerWork;
using planner::PackShape;

// Lets every token see its whole sample.
void SeeAll(LanguageModel& model, int64_t tokens) {
  for (planner::LayerRun& run : model.runs) {
    if (run.layer.window_tokens > 0) run.layer.window_tokens = tokens;
    if (run.layer.entries > 0) run.layer.entries = tokens;
  }
}

// The planner counts half of the pairs of tokens, since attention is causal.
std::map<std::string, double> FlopsOf(const planner::Job& job, const PackShape& pack) {
  const LanguageModel& m = job.model.language_model;
  const planner::Parallelism one;
  const planner::PrecisionRecipe& recipe = planner::RecipeOf(job.training.precision);
  const planner::KernelTime kernels(job.cluster.gpu, job.constants, recipe.products);
  const planner::Network network(job.cluster, job.constants);
  const planner::RankSetting setting{.kernels = kernels,
                                     .network = network,
                                     .cluster = job.cluster,
                                     .execution = job.training.execution,
                                     .parallelism = one,
                                     .dataset = job.dataset,
                                     .recipe = recipe,
                                     .mean = pack,
                                     .equal_packs = true};
  std::map<std::string, double> flops;
  std::string owner;
  const auto add = [&](const LayerWork& work, int64_t times) {
    for (const planner::LayerOperation& op : work.operations) {
      // Attention to an encoder's tokens, which is linear, sees all of them.
      const bool pairs = std::string(op.name) == "core attention" && !m.cross;
      const double linear =
          (pairs ? 2 : 1) * op.flops.per_token * pack.tokens + op.flops.per_unit[0] * pack.units[0];
      flops[owner + op.name] +=
          static_cast<double>(times) * (linear + 2 * op.flops.per_squared * pack.squared);
    }
  };
  owner = "encoder: ";
  for (const planner::EncoderTower& tower : job.model.towers) {
    const planner::Encoder& e = tower.encoder;
    const auto full = static_cast<int64_t>(e.full_layers.size());
    add(planner::PatchEmbeddingWork(setting, e, 0), 1);
    const int64_t windowed = e.window_tokens > 0 ? e.layers - full : 0;
    add(planner::EncoderLayerWork(setting, e, 0, /*windowed=*/false), e.layers - windowed);
    add(planner::EncoderLayerWork(setting, e, 0, /*windowed=*/true), windowed);
    add(planner::ProjectorWork(setting, tower, 0, m.hidden), 1);
  }
  owner.clear();
  add(planner::TokenEmbeddingWork(setting, m), 1);
  for (const planner::LayerRun& run : planner::RunsOf(m))
    add(planner::DecoderLayerWork(setting, m, run.layer), run.count);
  add(planner::HeadWork(setting, m), 1);
  return flops;
}

int Main(const char* path, int64_t tokens, int64_t units) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  server::ViolationSink sink(100);
  const auto model = server::ModelFromConfig(text, server::FieldPath("config_json"), sink);
  for (const server::Violation& violation : sink.Take()) std::cerr << violation.description << "\n";
  if (!model) return 1;
  planner::Job job = planner::TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.model.language_model = model->spec;
  SeeAll(job.model.language_model, tokens);
  if (units > 0) job.model.towers = model->towers;
  job.dataset.bins = {{.units = units, .llm_tokens = tokens, .count = 1}};
  const auto length = static_cast<double>(tokens);
  const PackShape pack{
      .units = static_cast<double>(units), .tokens = length, .squared = length * length};
  std::cout << nlohmann::json(FlopsOf(job, pack)).dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace evenkeel

int main(int count, char** arguments) {
  if (count == 3 || count == 4)
    return evenkeel::Main(arguments[1], std::atoll(arguments[2]),
                          count == 4 ? std::atoll(arguments[3]) : 0);
  std::cerr << "usage: forward_flops CONFIG.json TOKENS [UNITS]\n";
  return 2;
}
