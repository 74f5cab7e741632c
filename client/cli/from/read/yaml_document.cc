#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <set>
#include <sstream>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxYamlDepth = 32;

// Takes the events of the parser, so that no alias is ever followed.
class YamlLeaves : public YAML::EventHandler {
 public:
  explicit YamlLeaves(const std::string& name) : name_(name) {}

  std::vector<Setting> Take() { return std::move(settings_); }
  const std::set<std::string>& nulls() const { return nulls_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Value(mark, "", /*null=*/true); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "aliases (*name) are not read: write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const bool quoted = tag == "!";
    Value(mark, value, !quoted && (value == "~" || value == "null" || value == "Null"));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    if (levels_.empty()) Fail(mark, "a configuration is a map of keys, not a list");
    Open(mark, /*map=*/false);
  }

  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, /*map=*/true);
  }

  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    bool map = true, in_list = false;
    bool has_key = false;
    std::string path, key;
    std::set<std::string> keys;
    std::vector<std::string> items;
    int line = 0;
  };

  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& what) const {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}:{}: {}", name_, mark.line + 1, what));
  }

  void Open(const YAML::Mark& mark, bool map) {
    if (levels_.size() >= kMaxYamlDepth) Fail(mark, "it is nested too deep");
    Level level{.map = map, .line = mark.line + 1};
    if (!levels_.empty()) {
      Level& outer = levels_.back();
      if (outer.map && !outer.has_key) Fail(mark, "a key must be a word");
      level.path = outer.path.empty() || outer.key.empty() ? outer.path + outer.key
                                                           : outer.path + "." + outer.key;
      level.in_list = !outer.map;
      outer.has_key = false;
    }
    levels_.push_back(std::move(level));
  }

  void Close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    if (level.map) return;
    if (level.in_list) {
      levels_.back().items.push_back("[" + absl::StrJoin(level.items, ",") + "]");
      return;
    }
    settings_.push_back(
        {level.path, std::move(level.items), fmt::format("{}:{}", name_, level.line)});
  }

  void Value(const YAML::Mark& mark, const std::string& value, bool null) {
    if (levels_.empty()) Fail(mark, "a configuration is a map of keys, not a word");
    Level& level = levels_.back();
    if (!level.map) {
      level.items.push_back(value);
    } else if (!level.has_key) {
      if (!level.keys.insert(value).second) Fail(mark, "the key " + value + " occurs twice");
      level.key = value;
      level.has_key = true;
    } else {
      level.has_key = false;
      const std::string path = level.path.empty() ? level.key : level.path + "." + level.key;
      if (null) {
        nulls_.insert(path);
        return;
      }
      settings_.push_back({path, {value}, fmt::format("{}:{}", name_, mark.line + 1)});
    }
  }

  const std::string& name_;
  std::vector<Level> levels_;
  std::vector<Setting> settings_;
  std::set<std::string> nulls_;
};

}  // namespace

std::vector<Setting> ReadYaml(const std::string& text, const std::string& name,
                              std::set<std::string>* nulls) {
  std::istringstream in(text);
  YamlLeaves leaves(name);
  try {
    YAML::Parser parser(in);
    parser.HandleNextDocument(leaves);
  } catch (const YAML::Exception& error) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("{}:{}: {}", name, error.mark.line + 1, error.msg));
  }
  if (nulls != nullptr) *nulls = leaves.nulls();
  return leaves.Take();
}

}  // namespace evenkeel::cli
