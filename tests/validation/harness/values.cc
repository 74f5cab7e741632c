#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>

#include "planner/hardware/gpus.h"
#include "planner/model/layer_runs.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {

using planner::ChunkSpec;
using planner::LayerKind;

const Json& Child(const Json& object, std::string_view key) {
  static const Json kEmpty = Json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kEmpty;
}

int64_t Int(const Json& object, std::string_view key, int64_t otherwise) {
  const Json& value = Child(object, key);
  return value.is_number() ? value.get<int64_t>() : otherwise;
}

double Real(const Json& object, std::string_view key, double otherwise) {
  const Json& value = Child(object, key);
  return value.is_number() ? value.get<double>() : otherwise;
}

bool Flag(const Json& object, std::string_view key, bool otherwise) {
  const Json& value = Child(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::string Text(const Json& object, std::string_view key, std::string otherwise) {
  const Json& value = Child(object, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::optional<int64_t> NumberBefore(const std::string& text, const std::string& word) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex("([0-9]+) " + word))) return std::nullopt;
  return std::strtoll(match[1].str().c_str(), nullptr, 10);
}

std::optional<int64_t> NumberAfter(const std::string& text, const std::string& word) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(word + " ([0-9]+)"))) return std::nullopt;
  return std::strtoll(match[1].str().c_str(), nullptr, 10);
}

namespace {

// Returns the only GPU whose name begins with `label` and a dash, or nullptr.
const planner::GpuEntry* OnlyGpu(const std::string& label) {
  const planner::GpuEntry* only = nullptr;
  for (const planner::GpuEntry& entry : planner::Gpus()) {
    if (entry.spec.name.rfind(label + "-", 0) != 0) continue;
    if (only != nullptr) return nullptr;
    only = &entry;
  }
  return only;
}

}  // namespace

std::optional<planner::GpuSpec> GpuOf(std::string label) {
  for (char& c : label) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  label = label.substr(0, label.find_first_of("(,"));
  label = std::regex_replace(label, std::regex("^ *([0-9]+ ?x )?(nvidia )?| +$"), "");
  const std::string first = label.substr(0, label.find(' '));
  label = std::regex_replace(label, std::regex("[ _]+"), "-");
  const std::string plain = std::regex_replace(
      std::regex_replace(label, std::regex("sxm[0-9]"), "sxm"), std::regex("-hbm[0-9a-z]*$"), "");
  const std::string sorted =
      std::regex_replace(plain, std::regex("^([a-z0-9]+)-([0-9]+gb)-sxm$"), "$1-sxm-$2");
  for (const std::string& name :
       {label, plain, sorted, plain + "-80gb", label + "-sxm-80gb",
        std::regex_replace(plain, std::regex("-"), "-sxm-"), first, first + "-sxm-80gb",
        std::regex_replace(first, std::regex("-"), "-sxm-")}) {
    if (const planner::GpuEntry* entry = planner::FindGpu(name)) return entry->spec;
  }
  if (const planner::GpuEntry* entry = OnlyGpu(plain)) return entry->spec;
  return std::nullopt;
}

double NetworkOf(const Json& setup, const planner::GpuSpec& gpu) {
  static const std::regex kNics("([0-9]+) ?x ?([0-9]+) ?Gb/s");
  constexpr double kGpusPerNode = 8, kBitsPerByte = 8;
  for (const auto& [key, value] : setup.items()) {
    std::smatch match;
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (!std::regex_search(text, match, kNics)) continue;
    return std::strtod(match[1].str().c_str(), nullptr) *
           std::strtod(match[2].str().c_str(), nullptr) * 1e9 / kBitsPerByte / kGpusPerNode;
  }
  return gpu.costs.generation == planner::GpuGeneration::kAmpere ? 25e9 : 50e9;
}

planner::Cluster ClusterOf(const planner::GpuSpec& gpu, int64_t gpus, double network) {
  planner::Cluster cluster;
  cluster.gpu = gpu;
  cluster.gpu_count = gpus;
  cluster.gpus_per_node = std::min<int64_t>(8, gpus);
  cluster.intra_node_bytes_per_second =
      gpu.scaleup_bytes_per_second > 0 ? gpu.scaleup_bytes_per_second : gpu.pcie_bytes_per_second;
  cluster.inter_node_bytes_per_second = network;
  return cluster;
}

planner::LanguageModel GptOf(const Json& row, int64_t sequence, int64_t vocabulary) {
  const int64_t hidden = Int(row, "hidden"), heads = Int(row, "heads");
  return {.name = Text(row, "id"),
          .layers = Int(row, "layers"),
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = heads > 0 ? hidden / heads : 0,
          .ffn = 4 * hidden,
          .norm = planner::Norm::kLayerNorm,
          .vocab = vocabulary,
          .tied_embeddings = true,
          .linear_bias = true,
          .learned_positions = sequence};
}

namespace {

std::vector<LayerKind> KindsOf(const planner::ModelSpec& model) {
  std::vector<LayerKind> kinds;
  if (!model.towers.empty())
    kinds.assign(static_cast<size_t>(model.towers.front().encoder.layers), LayerKind::kEncoder);
  for (const planner::LayerRun& run : planner::RunsOf(model.language_model))
    kinds.insert(kinds.end(), static_cast<size_t>(run.count), planner::KindOf(run.layer));
  return kinds;
}

}  // namespace

std::vector<ChunkSpec> ChunksOf(const planner::ModelSpec& model, const std::vector<int64_t>& layers,
                                planner::RecomputeParts recomputed) {
  const std::vector<LayerKind> kinds = KindsOf(model);
  std::vector<ChunkSpec> chunks;
  size_t next = 0;
  for (const int64_t count : layers) {
    ChunkSpec chunk;
    for (int64_t i = 0; i < count && next < kinds.size(); ++i, ++next) {
      if (chunk.layers.empty() || chunk.layers.back().kind != kinds[next])
        chunk.layers.push_back({.kind = kinds[next]});
      ++chunk.layers.back().count;
    }
    if (recomputed != 0) {
      for (planner::LayerGroup& group : chunk.layers)
        group.recomputed = {{.parts = recomputed, .count = group.count}};
    }
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

std::vector<ChunkSpec> EvenChunks(const planner::ModelSpec& model, int64_t chunks,
                                  planner::RecomputeParts recomputed) {
  const int64_t layers = static_cast<int64_t>(KindsOf(model).size());
  std::vector<int64_t> counts(static_cast<size_t>(chunks), layers / chunks);
  for (int64_t i = 0; i < layers % chunks; ++i) ++counts[static_cast<size_t>(i)];
  return ChunksOf(model, counts, recomputed);
}

planner::Batching EqualPacks(int64_t samples, int64_t tokens, int64_t units) {
  planner::Batching batching;
  batching.packs = {{units * samples, tokens * samples, tokens * tokens * samples}};
  const planner::PackSums& pack = batching.packs.front();
  batching.mean = {static_cast<double>(pack.units), static_cast<double>(pack.tokens),
                   static_cast<double>(pack.squared)};
  batching.largest = batching.mean;
  batching.rule.samples_per_pack = static_cast<double>(samples);
  batching.rule.packs = 1;
  return batching;
}

const char* NameOf(Figure figure) {
  static const char* const kNames[] = {"allocated", "states",         "reserved",
                                       "used",      "kept per layer", "recomputed",
                                       "iteration", "layer forward",  "layer backward"};
  return kNames[static_cast<size_t>(figure)];
}

const char* UnitOf(Figure figure) {
  if (figure == Figure::kRecomputed) return "layers";
  return figure >= Figure::kIteration ? "ms" : "GiB";
}

double Shown(Figure figure, double value) {
  if (figure == Figure::kRecomputed) return value;
  return figure >= Figure::kIteration ? value * 1e-6 : value / (int64_t{1} << 30);
}

}  // namespace evenkeel::validation
