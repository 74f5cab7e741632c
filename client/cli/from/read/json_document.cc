#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxJsonDepth = 32;

std::string JsonText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Counts the lines that a parser has read, which it does not tell itself.
class LineCountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCountingIterator(const char* at, int* line) : at_(at), line_(line) {}

  reference operator*() const { return *at_; }
  LineCountingIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  bool operator==(const LineCountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  int* line_;
};

// Takes the leaves of a document.
class JsonLeaves {
 public:
  // `lines` are those of all keys that are in no list, in order; empty if all have one place.
  JsonLeaves(std::string name, std::vector<int> lines, std::set<std::string>* nulls)
      : name_(std::move(name)), lines_(std::move(lines)), nulls_(nulls) {}

  std::vector<Setting> Of(const Json& document) {
    Add(document, "", name_);
    return std::move(settings_);
  }

 private:
  void Add(const Json& value, const std::string& path, const std::string& place) {
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        const std::string own =
            next_ < lines_.size() ? fmt::format("{}:{}", name_, lines_[next_++]) : name_;
        Add(inner, path.empty() ? key : path + "." + key, own);
      }
    } else if (value.is_array()) {
      Setting setting{.key = path, .where = place};
      for (const Json& item : value) setting.values.push_back(JsonText(item));
      settings_.push_back(std::move(setting));
    } else if (!value.is_null()) {
      settings_.push_back({path, {JsonText(value)}, place});
    } else if (nulls_ != nullptr) {
      nulls_->insert(path);
    }
  }

  const std::string name_;
  const std::vector<int> lines_;
  size_t next_ = 0;
  std::set<std::string>* const nulls_;
  std::vector<Setting> settings_;
};

std::vector<Setting> ReadAnyJson(const std::string& text, const std::string& name, bool has_lines,
                                 std::set<std::string>* nulls) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::vector<int> lines;
  int line = 1, lists = 0;
  std::string twice;
  const auto check = [&](int depth, nlohmann::detail::parse_event_t event, Json& parsed) {
    using Event = nlohmann::detail::parse_event_t;
    if (depth > kMaxJsonDepth)
      throw CommandError(ExitCode::kBadInput, name + ": it is nested too deep");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::array_start) ++lists;
    if (event == Event::array_end) --lists;
    if (event == Event::key && lists == 0 && has_lines) lines.push_back(line);
    if (event == Event::object_end && !keys.empty()) keys.pop_back();
    if (event == Event::key && !keys.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second && twice.empty())
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    const LineCountingIterator begin(text.data(), &line), end(text.data() + text.size(), &line);
    const Json document = Json::parse(begin, end, check);
    if (!twice.empty())
      throw CommandError(ExitCode::kBadInput, name + ": the key " + twice + " occurs twice");
    if (!document.is_object())
      throw CommandError(ExitCode::kBadInput,
                         name + ": a configuration is an object of keys, not a list or a word");
    return JsonLeaves(name, std::move(lines), nulls).Of(document);
  } catch (const Json::exception& error) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace

std::vector<Setting> ReadJson(const std::string& text, const std::string& name,
                              std::set<std::string>* nulls) {
  return ReadAnyJson(text, name, /*has_lines=*/true, nulls);
}

std::vector<Setting> ReadJsonPart(const std::string& text, const std::string& place) {
  return ReadAnyJson(text, place, /*has_lines=*/false, nullptr);
}

}  // namespace evenkeel::cli
