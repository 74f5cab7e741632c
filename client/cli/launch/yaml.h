// YAML of values, for manifests.
#ifndef EVENKEEL_CLIENT_CLI_LAUNCH_YAML_H_
#define EVENKEEL_CLIENT_CLI_LAUNCH_YAML_H_

#include <nlohmann/json.hpp>
#include <string>

namespace evenkeel::cli {

// Writes one document in block style: keys in their order, text of several lines as literal blocks.
// Text that YAML could take for something else is quoted as in JSON, which YAML reads the same way.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LAUNCH_YAML_H_
