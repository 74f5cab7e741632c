// How many layers each chunk of a pipeline has, as Megatron-Core cuts it.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_LAYOUT_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::cli {

// Returns the layers ("t") of each entry of --pipeline-model-parallel-layout
// (megatron/core/transformer/pipeline_parallel_layer_layout.py), or nullopt if the text is not one.
std::optional<std::vector<int64_t>> LayersOfLayout(const std::string& layout);

// Returns `layers` spread over `chunks`, earlier chunks having one more where they do not divide.
std::vector<int64_t> EvenChunks(int64_t layers, int64_t chunks);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_LAYOUT_H_
