// Readers of published rows, one per schema. Each takes the rows that it knows, and names the
// others with the reason. It ignores keys that it does not know.
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_ROWS_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_ROWS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/trainer/trainers.h"
#include "tests/validation/harness/case.h"

namespace evenkeel::validation {

using Json = nlohmann::json;

// Reads all rows of all *.json files of the folder except cases.json. Throws std::runtime_error if
// the folder or a file cannot be read.
Cases ReadFolder(const std::string& folder);
// Reads published runs: all *.json files of a folder like tests/validation/runs, or one file whose
// lines are such runs, including everything that they share. Each run has the defaults of its
// trainer, or of `every` if that is given. Throws as above.
Cases ReadPublishedRuns(const std::string& path, const planner::Trainer* every = nullptr);

// Read rows by schema. `file` is the name without folder and extension.
void ReadMegatronRow(const std::string& file, const Json& row, Cases& cases);
void ReadSimuMaxRow(const std::string& file, const Json& whole, const Json& row, Cases& cases);
void ReadFlatRow(const std::string& file, const Json& whole, const Json& row, Cases& cases);
void ReadKorthikanti(const std::string& file, const Json& whole, Cases& cases);
void ReadRuns(const Json& whole, const planner::Trainer* every, Cases& cases);
void ReadRun(const std::string& family, const Json& row, const planner::Trainer* every,
             Cases& cases);
// Sets how the trainer of a published run runs the model.
void SetExecution(const Json& row, planner::Training& training);
// Returns a published run with other sources' names of keys and values in the words of
// tests/validation/runs, as far as they are known.
Json InOurWords(Json row);
// Returns the run with micro-batch, accumulation or global batch filled in from the other two.
Json WithBatch(Json row);
// Returns the facts about a run that are not published, or "" if all are.
std::string Missing(const Json& row);
// The words of rows for token embedding and head that train in full with adapters.
inline constexpr const char* kTables = "embedding and output head";
// Returns the settings of a run that the planner cannot express, or "" if there are none.
std::string Inexpressible(const Json& row);
// Returns the value of a published run that no run can have, or "" if there is none.
std::string Impossible(const Json& row);
void ReadHbp(const std::string& file, const Json& whole, Cases& cases);
void ReadOmniBal(const std::string& file, const Json& whole, Cases& cases);

// Return values by key. A value that is missing or of another JSON type gives the default.
int64_t Int(const Json& object, std::string_view key, int64_t otherwise = 0);
double Real(const Json& object, std::string_view key, double otherwise = 0);
bool Flag(const Json& object, std::string_view key, bool otherwise = false);
std::string Text(const Json& object, std::string_view key, std::string otherwise = "");
const Json& Child(const Json& object, std::string_view key);  // an empty object if missing

// Returns the first integer before `word` in `text`, such as 16 in "16 kv heads".
std::optional<int64_t> NumberBefore(const std::string& text, const std::string& word);
std::optional<int64_t> NumberAfter(const std::string& text, const std::string& word);

// Returns the catalogue's GPU whose name a label begins with, or nullopt if there is none.
std::optional<planner::GpuSpec> GpuOf(std::string label);

// Returns bytes per second and GPU of a network such as "8 x 200 Gb/s" per node; otherwise that of
// the usual DGX system with this GPU: one NIC per GPU, with 200 Gb/s for A100 and 400 for others.
double NetworkOf(const Json& setup, const planner::GpuSpec& gpu);

planner::Cluster ClusterOf(const planner::GpuSpec& gpu, int64_t gpus, double network);

// Makes the GPT of the Megatron papers: MLP of 4 hidden, LayerNorm, biases, learned positions,
// tied.
planner::LanguageModel GptOf(const Json& row, int64_t sequence, int64_t vocabulary);

// Deals layers evenly to chunks. The first ones get one more if the number does not divide evenly.
std::vector<planner::ChunkSpec> EvenChunks(const planner::ModelSpec& model, int64_t chunks,
                                           planner::RecomputeParts recomputed);
// Makes chunks with these numbers of transformer layers, front to back.
std::vector<planner::ChunkSpec> ChunksOf(const planner::ModelSpec& model,
                                         const std::vector<int64_t>& layers,
                                         planner::RecomputeParts recomputed);

// Reads Megatron's --pipeline-model-parallel-layout, such as "Et*3|(tt|)*6tmL": transformer layers
// of each chunk, front to back.
std::vector<int64_t> LayoutOf(const std::string& layout);

// Makes micro-batches of equal samples.
planner::Batching EqualPacks(int64_t samples, int64_t tokens, int64_t units = 0);

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_ROWS_H_
