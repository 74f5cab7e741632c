// A property of a model that its config.json may set.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_FLAG_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_FLAG_H_

#include <string_view>

namespace evenkeel::server {

// A property that a key of the config sets, or that is fixed where `key` is empty.
struct ConfigFlag {
  std::string_view key;
  bool fixed = false;
};

inline constexpr ConfigFlag kYes = {.fixed = true};
inline constexpr ConfigFlag kAttentionBias = {.key = "attention_bias"};
inline constexpr ConfigFlag kMlpBias = {.key = "mlp_bias"};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_FLAG_H_
