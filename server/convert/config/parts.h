// Rewrites settings that a config.json gives in separate objects, or as numbers that stand for
// names, into the usual keys.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_PARTS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_PARTS_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/convert/config/architectures.h"

namespace evenkeel::server {

// Rewrites the architecture's parts, codes and places in the config, and adds unknown values to
// `faults`. A key that the config already has is left as it is.
void UnfoldConfig(const ConfigArchitecture& architecture, nlohmann::json& config,
                  std::vector<std::string>& faults);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_PARTS_H_
