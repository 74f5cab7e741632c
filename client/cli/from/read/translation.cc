#include "client/cli/from/read/translation.h"

#include <absl/strings/ascii.h>
#include <algorithm>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {

const char* OursOf(std::span<const RenamedKey> keys, const std::string& theirs) {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const RenamedKey& key) { return theirs == key.theirs; });
  return found == keys.end() ? nullptr : found->ours;
}

std::string Word(const Setting& setting) {
  return setting.values.size() == 1 ? absl::AsciiStrToLower(setting.values.front()) : "";
}

bool IsTrue(const Setting& setting) { return Word(setting) == "true"; }

Setting As(const char* key, const Setting& setting) {
  return {key, setting.values, setting.where, setting.key, setting.values};
}

Setting As(const char* key, const std::string& value, const Setting& setting) {
  return {key, {value}, setting.where, setting.key, setting.values};
}

Setting AsList(const char* key, const Setting& setting) {
  Setting list = As(key, setting);
  if (list.values.size() == 1) list.values = WordsOf(setting.values.front());
  return list;
}

Setting AsFewBits(const Setting& setting) {
  const std::string word = Word(setting);
  if (word != "4" && word != "8")
    FailTranslation(setting, "not yet: weights with so many bits; accepted: 4, 8");
  return As(word == "4" ? "load_in_4bit" : "load_in_8bit", "true", setting);
}

const Setting* FindSetting(const std::vector<Setting>& settings, const char* key) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

bool IsOn(const std::vector<Setting>& settings, const char* key) {
  const Setting* setting = FindSetting(settings, key);
  return setting != nullptr && IsTrue(*setting);
}

void FailTranslation(const Setting& setting, const std::string& why) {
  throw CommandError(ExitCode::kBadInput, Describe(setting) + ": " + why);
}

}  // namespace evenkeel::cli
