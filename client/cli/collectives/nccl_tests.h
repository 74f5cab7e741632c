// Reads the output of nccl-tests, as text or as JSON (its -J option), for `profile record`. Text
// may hold several tests, and lines of other programs. The first rows of a test name its ranks with
// their hosts and GPUs. The caller gives the facts that the rows lack.
#ifndef EVENKEEL_CLIENT_CLI_COLLECTIVES_NCCL_TESTS_H_
#define EVENKEEL_CLIENT_CLI_COLLECTIVES_NCCL_TESTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/v1/profile.pb.h"

namespace evenkeel::cli {

// Facts that the caller gives about all tests. 0 and "": not given.
struct NcclFacts {
  std::string collective;  // one of CollectiveNames()
  std::string gpu_type;
  int32_t ranks = 0;
  int32_t nodes = 0;
  double inter_node_bytes_per_second = 0;
};

// Names of collectives as nccl-tests' programs have them: "all_reduce" of all_reduce_perf.
std::vector<std::string> CollectiveNames();

// Returns whether this is the output of nccl-tests, rather than a RecordProfileRequest in JSON.
bool IsNcclOutput(std::string_view text);

// Adds the collectives of an output, from a file of that name. Throws CommandError(kBadInput) that
// names the line, or the place in the JSON, and what would be accepted.
void AddNcclOutput(std::string_view text, const std::string& file, const NcclFacts& facts,
                   v1::RecordProfileRequest* request);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_COLLECTIVES_NCCL_TESTS_H_
