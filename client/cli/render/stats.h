// Shows counted lengths.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_STATS_H_
#define EVENKEEL_CLIENT_CLI_RENDER_STATS_H_

#include <string>
#include <vector>

#include "client/cli/base/text.h"
#include "client/cli/dataset/histogram.h"
#include "client/cli/dataset/length_counts.h"

namespace evenkeel::cli {

// Renders the counts. `sorted` comes from LengthCounts::Sorted() and is not empty. `files` is the
// number of files that were joined.
std::string RenderStats(const Style& style, const std::vector<LengthCount>& sorted, size_t encoders,
                        const BinnedHistogram& binned, size_t files);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_STATS_H_
