// One JSON object of a checkpoint's processor files. It remembers which keys were read, so that
// those left over can be named.
#ifndef EVENKEEL_CLIENT_CLI_MEDIA_SETTINGS_H_
#define EVENKEEL_CLIENT_CLI_MEDIA_SETTINGS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel::cli {

inline constexpr int64_t kMostSide = 65536;  // largest setting, in pixels
inline constexpr int64_t kMostPixels = 1'000'000'000'000;
inline constexpr int64_t kMostTokens = 65536;  // of a unit

// Throws std::invalid_argument.
[[noreturn]] void Refuse(const std::string& what);

// A member that is null counts as none. All readers throw std::invalid_argument that names the key.
class Settings {
 public:
  explicit Settings(nlohmann::json object = nlohmann::json::object());

  bool Has(std::string_view key) const;
  // An integer of 1 to `most`, or `otherwise`.
  int64_t Number(std::string_view key, int64_t otherwise, int64_t most);
  // As Number, but 0 is accepted.
  int64_t Count(std::string_view key, int64_t otherwise, int64_t most);
  // A number above 0, or `otherwise`.
  double Real(std::string_view key, double otherwise);
  bool Flag(std::string_view key, bool otherwise);
  std::string Text(std::string_view key);
  // The member `name` of the object of sizes `key`, or `otherwise` if there is no such object.
  int64_t Edge(std::string_view key, std::string_view name, int64_t otherwise, int64_t most);
  // A side that is a number, or the equal height and width of an object, or its shortest edge.
  int64_t Side(std::string_view key, int64_t otherwise);
  // The value of an array of two equal ones, or `otherwise`.
  int64_t EqualPair(std::string_view key, int64_t otherwise);
  // Pairs of sides, or `otherwise`.
  std::vector<std::pair<int64_t, int64_t>> Pairs(
      std::string_view key, std::vector<std::pair<int64_t, int64_t>> otherwise);
  // Refuses a flag that is not `only`.
  void Require(std::string_view key, bool only);

  // Keys that were not read and may change lengths: not those of colours, of text, and the like.
  std::vector<std::string> Unread() const;

 private:
  // Returns null if there is none.
  const nlohmann::json* Find(std::string_view key);

  nlohmann::json object_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_MEDIA_SETTINGS_H_
