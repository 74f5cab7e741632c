// Writes values as YAML, for manifests.
#ifndef EVENKEEL_CLIENT_CLI_LAUNCH_YAML_H_
#define EVENKEEL_CLIENT_CLI_LAUNCH_YAML_H_

#include <nlohmann/json.hpp>
#include <string>

namespace evenkeel::cli {

// Writes one document in block style, with keys in their order and text of several lines as literal
// blocks. Text that YAML could read as something else is quoted as in JSON, which YAML reads in the
// same way.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LAUNCH_YAML_H_
