#include "client/cli/launch/yaml.h"

#include <absl/strings/ascii.h>

#include <algorithm>

#include "server/base/visible_text.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

// Returns whether a word is text in YAML 1.1 and in 1.2: not a number, a boolean or markup.
bool IsPlain(const std::string& text) {
  if (text.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) return false;
  const auto allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           c == '/';
  };
  if (!std::all_of(text.begin(), text.end(), allowed)) return false;
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}) {
    if (lower == word) return false;
  }
  return true;
}

std::string Scalar(const Json& value) {
  if (value.is_string() && IsPlain(value.get<std::string>())) return value.get<std::string>();
  return server::Visible(value.dump());
}

std::string Key(const std::string& key) {
  return IsPlain(key) ? key : server::Visible(Json(key).dump());
}

// Returns whether a literal block can hold the value. A block keeps its lines unchanged; here, it
// cannot begin with a blank.
bool IsBlock(const Json& value) {
  if (!value.is_string()) return false;
  const std::string text = value.get<std::string>();
  if (server::Visible(text, "\n\t") != text) return false;
  return text.find('\n') != std::string::npos && text.back() == '\n' && text[0] != ' ' &&
         text[0] != '\n' && (text.size() < 2 || text[text.size() - 2] != '\n');
}

class Writer {
 public:
  void Write(const Json& value, int indent) {
    if (value.is_object() && !value.empty()) {
      for (const auto& [key, item] : value.items()) {
        Indent(indent);
        text += Key(key) + ":";
        Value(item, indent, /*in_list=*/false);
      }
    } else if (value.is_array() && !value.empty()) {
      for (const Json& item : value) {
        Indent(indent);
        text += "-";
        Value(item, indent, /*in_list=*/true);
      }
    } else {
      Indent(indent);
      text += value.dump() + "\n";
    }
  }

  std::string text;

 private:
  void Indent(int indent) {
    if (at_item_) {
      at_item_ = false;  // the first line of an entry follows its dash
    } else {
      text.append(static_cast<size_t>(indent), ' ');
    }
  }

  void Value(const Json& value, int indent, bool in_list) {
    const bool nested = (value.is_object() || value.is_array()) && !value.empty();
    if (nested && in_list) {
      text += " ";
      at_item_ = true;
      Write(value, indent + 2);
    } else if (nested) {
      text += "\n";
      Write(value, indent + 2);
    } else if (IsBlock(value)) {
      text += " |\n";
      Block(value.get<std::string>(), indent + 2);
    } else {
      text += " " + Scalar(value) + "\n";
    }
  }

  void Block(const std::string& lines, int indent) {
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at);
      const std::string line = lines.substr(at, end - at);
      if (!line.empty()) text += std::string(static_cast<size_t>(indent), ' ') + line;
      text += "\n";
      at = end + 1;
    }
  }

  bool at_item_ = false;
};

}  // namespace

std::string ToYaml(const Json& value) {
  Writer writer;
  writer.Write(value, 0);
  return std::move(writer.text);
}

}  // namespace evenkeel::cli
