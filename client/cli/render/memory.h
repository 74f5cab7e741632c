// Shows memory by part, one row per stage.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_MEMORY_H_
#define EVENKEEL_CLIENT_CLI_RENDER_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/base/text.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

struct MemoryRow {
  std::string name;
  v1::MemoryParts memory;
  int64_t capacity_bytes = 0;
};

std::string MemoryTable(const Style& style, const std::string& name_heading,
                        const std::vector<MemoryRow>& rows);

// Shows one stage as a list of parts with bars, for a misfit.
std::string MemoryBars(const Style& style, const v1::MemoryParts& memory, int64_t capacity_bytes);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_MEMORY_H_
