// Rewrites what a config.json says in objects of its own, or in numbers that stand for names, into
// the usual keys.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_PARTS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_PARTS_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/convert/config/architectures.h"

namespace evenkeel::server {

// Rewrites the architecture's parts, codes and places in the config, and adds to `faults` what is
// not known there. A key that the config has already is left as it is.
void UnfoldConfig(const ConfigArchitecture& architecture, nlohmann::json& config,
                  std::vector<std::string>& faults);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_PARTS_H_
