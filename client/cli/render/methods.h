// Shows plans of one job under different ways to cut the model into stages.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_METHODS_H_
#define EVENKEEL_CLIENT_CLI_RENDER_METHODS_H_

#include <string>
#include <vector>

#include "client/cli/base/text.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// Returns the methods to compare, ours first.
std::vector<v1::PartitionMethod> PartitionMethods();

// Returns a table of the plans, one for each of PartitionMethods.
std::string RenderMethods(const Style& style, const std::vector<v1::Plan>& plans);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_METHODS_H_
