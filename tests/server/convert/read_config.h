// Reads a config.json as tests do.
#ifndef EVENKEEL_TESTS_SERVER_CONVERT_READ_CONFIG_H_
#define EVENKEEL_TESTS_SERVER_CONVERT_READ_CONFIG_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/convert/checks.h"
#include "server/convert/config/model_config.h"

namespace evenkeel::server {

// Returns the model, or nullopt if it is refused: that fails the test unless `refused` takes the
// reasons, a line each.
inline std::optional<ConfiguredModel> ReadConfig(const nlohmann::json& config,
                                                 std::string* refused = nullptr) {
  ViolationSink sink(100);
  auto model = ModelFromConfig(config.dump(), FieldPath("config_json"), sink);
  EXPECT_EQ(model.has_value(), sink.count() == 0);
  for (const Violation& violation : sink.Take()) {
    if (refused == nullptr) ADD_FAILURE() << violation.description;
    if (refused != nullptr) *refused += violation.description + "\n";
  }
  return model;
}

// Returns why a config is refused, which it must be.
inline std::string Refusal(const nlohmann::json& config) {
  std::string refused;
  EXPECT_FALSE(ReadConfig(config, &refused));
  return refused;
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_CONVERT_READ_CONFIG_H_
