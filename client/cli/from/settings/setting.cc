#include "client/cli/from/settings/setting.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kLongestShown = 60;
constexpr char kNameLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

std::string Shown(const Setting& setting) {
  std::string text = absl::StrJoin(setting.values, " ");
  if (text.size() > kLongestShown) text = text.substr(0, kLongestShown - 3) + "...";
  return text;
}

// Appends the variables that a value holds, such as "${TP}", except those that are there.
void AddVariables(const std::string& value, std::vector<std::string>* variables) {
  for (size_t at = value.find("${"); at != std::string::npos; at = value.find("${", at + 2)) {
    const size_t end = value.find_first_not_of(kNameLetters, at + 2);
    if (end == std::string::npos || end == at + 2) continue;
    std::string name = value.substr(at, end - at) + "}";
    if (std::find(variables->begin(), variables->end(), name) == variables->end())
      variables->push_back(std::move(name));
  }
}

// Returns the refusal of a value that holds a variable, with the other variables that are read.
// "${NAME}" alone may be meant to be empty.
std::string WhatIsOpen(const UserConfig& config, const std::string& text) {
  const bool yaml = config.syntax != Syntax::kJson && config.syntax != Syntax::kScript;
  std::vector<std::string> own, open;
  AddVariables(text, &own);
  open = own;
  for (const Setting& setting : config.used)
    for (const std::string& value : setting.values) AddVariables(value, &open);
  open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(own.size()));
  std::string refusal =
      absl::StrCat(yaml ? "the file" : "the script", " does not say what ", text, " is");
  if (!open.empty())
    absl::StrAppend(&refusal, ", nor what ", absl::StrJoin(open, ", "),
                    open.size() == 1 ? " is" : " are");
  absl::StrAppend(&refusal,
                  open.empty() ? ": write the number, or give the variable or argument"
                               : ": write the numbers, or give the variables or arguments",
                  " by --env NAME=VALUE");
  const bool alone =
      absl::StartsWith(text, "${") && text.find_first_of("}:[#%/") + 1 == text.size();
  if (alone && text.size() > 3 && absl::ascii_isalpha(text[2]))
    absl::StrAppend(&refusal, "; --env ", text.substr(2, text.size() - 3),
                    "= says that it is empty");
  return refusal;
}

// Returns the settings of other fields that a refusal names, such as the optimizer in "offload of
// this optimizer; accepted: training.optimizer OPTIMIZER_ADAM".
std::string OtherSettings(const UserConfig& config, absl::string_view reasons) {
  std::string text;
  for (const absl::string_view word :
       absl::StrSplit(reasons, absl::ByAnyChar(" ,;"), absl::SkipEmpty()))
    for (size_t i = config.used.size(); i-- > 0;) {
      if (word != config.meanings[i]) continue;
      absl::StrAppend(&text, "; ", word, " is set by ", Describe(config.used[i]));
      break;
    }
  return text;
}

}  // namespace

const ConfigFormatRecord& RecordOf(ConfigFormat format) {
  return *std::find_if(std::begin(kConfigFormats), std::end(kConfigFormats),
                       [&](const ConfigFormatRecord& record) { return record.format == format; });
}

std::optional<ConfigFormat> FormatNamed(const std::string& name) {
  for (const ConfigFormatRecord& record : kConfigFormats)
    if (name == record.name) return record.format;
  return std::nullopt;
}

std::vector<std::string> WordsOf(const std::string& list) {
  std::vector<std::string> words;
  for (const absl::string_view word : absl::StrSplit(list, ','))
    words.emplace_back(absl::StripAsciiWhitespace(word));
  return words;
}

std::string Describe(const Setting& read) {
  const Setting setting = read.AsWritten();
  const std::string values = Shown(setting);
  return setting.where + ": " + setting.key + (values.empty() ? "" : " " + values);
}

std::string WithItsSetting(const UserConfig& config, std::string refusal) {
  const std::string field = refusal.substr(0, refusal.find_first_of(" :"));
  // The last one counts where several set a field, and one that sets it before those of a message
  // around it.
  for (const bool itself : {true, false})
    for (size_t i = config.used.size(); i-- > 0;) {
      const std::string set = absl::StrCat("job.", config.meanings[i]);
      if (itself ? field == set : absl::StartsWith(field, set + "."))
        return absl::StrCat(refusal, " (set by ", Describe(config.used[i]),
                            OtherSettings(config, absl::string_view(refusal).substr(field.size())),
                            ")");
    }
  return refusal;
}

void UserConfig::Refuse(Field field, const std::string& why) const {
  throw CommandError(ExitCode::kBadInput, Describe(fields.at(field)) + ": " + why);
}

bool UserConfig::On(Field field, bool fallback) const {
  const auto found = fields.find(field);
  if (found == fields.end()) return fallback;
  if (found->second.values.empty()) return true;
  const std::string text = absl::AsciiStrToLower(found->second.values.front());
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off" || text == "none" ||
      text.empty())
    return false;
  // On a command line, the word after a switch is not its value.
  if (found->second.key.rfind("--", 0) == 0) return true;
  if (text.find('$') != std::string::npos)
    Refuse(field, WhatIsOpen(*this, found->second.values.front()));
  Refuse(field, "must be true or false");
}

int64_t UserConfig::Int(Field field, int64_t fallback, int64_t min, int64_t max) const {
  const auto found = fields.find(field);
  if (found == fields.end()) return fallback;
  const std::vector<std::string>& values = found->second.values;
  if (values.empty()) Refuse(field, "has no value");
  std::string text = values.front();
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  int64_t value = 0;
  double real = 0;
  // "1e9" is a whole number too, as YAML and TOML may write it.
  if (!absl::SimpleAtoi(text, &value)) {
    if (text.find('$') != std::string::npos) Refuse(field, WhatIsOpen(*this, values.front()));
    if (!absl::SimpleAtod(text, &real) || !(std::fabs(real) < 9e15) || real != std::floor(real))
      Refuse(field, fmt::format("must be a whole number from {} to {}", min, max));
    value = static_cast<int64_t>(real);
  }
  if (value < min || value > max) Refuse(field, fmt::format("must be from {} to {}", min, max));
  return value;
}

double UserConfig::Real(Field field, double fallback) const {
  const auto found = fields.find(field);
  if (found == fields.end()) return fallback;
  double value = 0;
  if (found->second.values.empty() || !absl::SimpleAtod(found->second.values.front(), &value) ||
      !std::isfinite(value))
    Refuse(field, "must be a number");
  return value;
}

std::string UserConfig::Text(Field field, const std::string& fallback) const {
  const auto found = fields.find(field);
  if (found == fields.end()) return fallback;
  if (found->second.values.empty()) Refuse(field, "has no value");
  return found->second.values.front();
}

std::vector<std::string> UserConfig::List(Field field) const {
  const auto found = fields.find(field);
  return found == fields.end() ? std::vector<std::string>() : found->second.values;
}

// Returns "--micro-batch-size 2 --swiglu without --fp16" as "micro_batch_size: 2, swiglu: true
// without fp16". `options`: the keys keep their dashes.
std::string AsYamlFields(const std::string& argument, bool options) {
  std::string text;
  bool removes = false, open = false;  // whether an option has no value yet
  const auto close = [&] {
    if (open && !removes) text += ": true";
    open = false;
  };
  for (const absl::string_view word : absl::StrSplit(argument, ' ')) {
    if (absl::StartsWith(word, "--")) {
      close();
      if (!text.empty()) text += removes || absl::EndsWith(text, "without") ? " " : ", ";
      text += options ? std::string(word) : absl::StrReplaceAll(word.substr(2), {{"-", "_"}});
      open = true;
      continue;
    }
    if (word == "without" || word == "and") close();
    removes = removes || word == "without";
    if (!text.empty()) text += open ? ": " : " ";
    text += std::string(word);
    open = false;
  }
  close();
  return text;
}

std::string InSyntax(Syntax syntax, std::string argument) {
  if (syntax == Syntax::kJson) return argument;
  if (syntax == Syntax::kMegatronYaml || syntax == Syntax::kOptionYaml)
    return AsYamlFields(argument, syntax == Syntax::kOptionYaml);
  const bool script = syntax == Syntax::kScript;
  // Commas are JSON's.
  absl::StrReplaceAll({{", \"gradient_accumulation",
                        script ? " \"gradient_accumulation" : "\n\"gradient_accumulation"},
                       {", and ", " and "}},
                      &argument);
  // A shell takes an object as one word. DeepSpeed's stand in a file of their own.
  const size_t object = argument.find('{');
  const bool in_file = absl::StartsWith(argument, "in \"deepspeed\"");
  if (script && !in_file && object != std::string::npos) {
    argument.insert(argument.rfind('}') + 1, "'");
    argument.insert(object, "'");
  }
  for (const std::string key :
       {"accelerator_config", "per_device_train_batch_size", "gradient_accumulation_steps",
        "gradient_checkpointing", "full_determinism"})
    absl::StrReplaceAll({{"\"" + key + "\": ", script ? "--" + key + " " : key + ": "}}, &argument);
  return argument;
}

}  // namespace evenkeel::cli
