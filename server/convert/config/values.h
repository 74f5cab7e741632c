// Reads the values of one JSON object of a config.json, with the defaults of transformers for keys
// that it leaves out.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_VALUES_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_VALUES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/convert/checks.h"
#include "server/convert/config/flag.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// Reports its faults at one field, and remembers which keys were read.
class ConfigValues {
 public:
  using Json = nlohmann::json;

  // `defaults` is a JSON object. `inside` is the key whose value `config` is; empty: the whole.
  ConfigValues(const Json& config, std::string_view defaults, std::string_view model_type,
               std::string_view inside, const FieldPath& field, ViolationSink& sink);

  // Returns the value of a key or of an alias. If the config leaves it out, returns its default, or
  // nullptr without one.
  const Json* Find(std::string_view key);
  int64_t Required(std::string_view key, IntRange range);
  int64_t Or(std::string_view key, IntRange range, int64_t fallback);
  // Returns `value`, which messages show as that of the key.
  int64_t Number(std::string_view key, const Json& value, IntRange range);
  bool Flag(const ConfigFlag& flag);
  // Returns the elements of a list of numbers; nullopt if the config has none.
  std::optional<std::vector<int64_t>> Numbers(std::string_view key, IntRange range);
  // Returns the elements of a list of texts, of which there must be `count`; nullopt if the config
  // has none.
  std::optional<std::vector<std::string>> Texts(std::string_view key, int64_t count);
  // Returns whether the key is null, or left out where null is the default. That counts as read.
  bool IsNull(std::string_view key);
  // Returns whether the config gives null for a key for which null has a meaning of its own
  // (NullMeansNone), and is not the default.
  bool SaysNone(std::string_view key) const;
  // Returns whether the key is missing, or has the value "auto".
  bool IsAuto(std::string_view key);

  void Fail(const std::string& text);
  void NotYet(const std::string& what);
  bool valid() const { return valid_; }
  std::string_view model_type() const { return model_type_; }
  // Returns the key as messages show it.
  std::string Shown(std::string_view key) const;

  // Refuses keys that nobody has read, that are about shapes and that are not among `unread`. A
  // value that is null, empty, false or 0 is no feature.
  void RefuseUnknownKeys(const std::vector<std::string_view>& unread);

 private:
  const Json& config_;
  const Json defaults_;
  const std::string_view model_type_, inside_;
  const FieldPath& field_;
  ViolationSink& sink_;
  std::set<std::string> read_ = {"model_type", "architectures"};
  bool valid_ = true;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_VALUES_H_
