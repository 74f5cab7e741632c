// Samples one by one, in the order of their files.
#ifndef EVENKEEL_CLIENT_CLI_SAMPLE_LENGTHS_H_
#define EVENKEEL_CLIENT_CLI_SAMPLE_LENGTHS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::cli {

// Bound of the contract (PackDatasetStart in packing.proto).
inline constexpr int64_t kMaxPackedSamples = 2'147'483'647;

struct SampleLengths {
  struct Part {
    std::string path;  // path of the file
    int64_t count = 0;
  };

  std::vector<int32_t> units;  // one for each of `tokens`
  std::vector<int32_t> tokens;
  std::vector<int32_t> loss_tokens;  // tokens with a loss; empty if all have one
  std::vector<Part> parts;           // in order; they add up to all samples

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_SAMPLE_LENGTHS_H_
