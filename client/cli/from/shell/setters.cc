#include "client/cli/from/shell/setters.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "client/cli/from/shell/words.h"

namespace evenkeel::cli {
namespace {

using absl::string_view;

// Commands that set the variables that are among their words (bash(1), "Shell Builtin Commands").
constexpr const char* kSetters[] = {"read", "mapfile", "readarray", "getopts", "printf",
                                    "let",  "for",     "select",    "unset"};

// Words in front of a command. An assignment there is one, too.
constexpr const char* kBefore[] = {"then", "do", "else", "if",   "elif",    "while",  "until",
                                   "!",    "{",  "time", "exec", "builtin", "command"};

// Variables that the shell itself sets ("Shell Variables" of bash(1)) or that a session has.
constexpr const char* kOfShell[] = {
    "PATH",     "HOME",     "PWD",  "OLDPWD", "USER",   "LOGNAME", "HOSTNAME", "SHELL",
    "RANDOM",   "LINENO",   "UID",  "EUID",   "PPID",   "IFS",     "SECONDS",  "OSTYPE",
    "HOSTTYPE", "MACHTYPE", "TERM", "LANG",   "OPTARG", "OPTIND",  "REPLY"};

// Those of launchers.
constexpr const char* kOfLaunchers[] = {"BASH",  "SLURM_",  "OMPI_",     "PMI_", "PMIX_",
                                        "PBS_",  "LSB_",    "FLUX_",     "RANK", "LOCAL_",
                                        "NODE_", "MASTER_", "WORLD_SIZE"};

template <size_t N>
bool IsOneOf(const char* const (&names)[N], string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Returns the name that the word begins with, or "".
string_view NameIn(string_view word) {
  size_t end = 0;
  while (end < word.size() && (absl::ascii_isalnum(word[end]) || word[end] == '_')) ++end;
  return end == 0 || absl::ascii_isdigit(word[0]) ? string_view() : word.substr(0, end);
}

bool IsAssigned(string_view word) {
  const string_view rest = word.substr(NameIn(word).size());
  return rest.size() < word.size() && (absl::StartsWith(rest, "=") || absl::StartsWith(rest, "+="));
}

// Adds what one command sets, of which `words` are all.
void AddCommand(const std::vector<string_view>& words, ShellSetters* setters) {
  size_t first = 0;
  for (const string_view word : words)
    if (IsAssigned(word)) setters->assigned.emplace(NameIn(word));
  while (first < words.size() && (IsOneOf(kBefore, words[first]) || IsAssigned(words[first])))
    ++first;
  if (first == words.size()) return;
  const string_view command = words[first];
  // An environment of Python sets nothing that a trainer's script asks for.
  if (command == "source" || command == ".")
    setters->any = setters->any || first + 1 == words.size() ||
                   BaseName(std::string(words[first + 1])) != "activate";
  // "export $(cat .env)" and "eval $(...)" set what the inner command prints.
  const bool evaluates = command == "eval";
  if (evaluates || IsPrefix(std::string(command)))
    for (const string_view word : words)
      setters->any = setters->any || absl::EndsWith(word, "$") || absl::StrContains(word, "`") ||
                     (evaluates && absl::StrContains(word, "$"));
  if (!IsOneOf(kSetters, command)) return;
  for (size_t i = first + 1; i < words.size(); ++i)
    if (const string_view name = NameIn(words[i]); !name.empty()) setters->names.emplace(name);
}

// Adds the names of "((I += 1))", but not of "$((I + 1))".
void AddSums(string_view line, ShellSetters* setters) {
  for (size_t at = line.find("(("); at != string_view::npos; at = line.find("((", at + 2)) {
    if (at > 0 && line[at - 1] == '$') continue;
    for (const string_view word : absl::StrSplit(line.substr(at), absl::ByAnyChar(" \t();,")))
      if (const string_view name = NameIn(word); !name.empty()) setters->names.emplace(name);
  }
}

// Adds the names of "${X:=1}" and "${X=1}".
void AddDefaults(string_view line, ShellSetters* setters) {
  for (size_t at = line.find("${"); at != string_view::npos; at = line.find("${", at + 2)) {
    const string_view name = NameIn(line.substr(at + 2));
    const string_view rest = line.substr(at + 2 + name.size());
    if (!name.empty() && (absl::StartsWith(rest, ":=") || absl::StartsWith(rest, "=")))
      setters->assigned.emplace(name);
  }
}

}  // namespace

bool ShellSetters::LeavesUnset(const std::string& name, bool repeats) const {
  if (any || NameIn(name).empty() || names.count(name) > 0) return false;
  if (repeats && assigned.count(name) > 0) return false;
  const auto begins = [&](const char* prefix) { return absl::StartsWith(name, prefix); };
  return !IsOneOf(kOfShell, name) &&
         std::none_of(std::begin(kOfLaunchers), std::end(kOfLaunchers), begins);
}

ShellSetters SettersOf(const std::string& text) {
  ShellSetters setters;
  const std::string joined = absl::StrReplaceAll(text, {{"\\\n", " "}});
  for (const string_view whole : absl::StrSplit(joined, '\n')) {
    const string_view line = absl::StripLeadingAsciiWhitespace(whole);
    if (absl::StartsWith(line, "#")) continue;
    AddSums(line, &setters);
    AddDefaults(line, &setters);
    for (const string_view command : absl::StrSplit(line, absl::ByAnyChar(";|&()")))
      AddCommand(absl::StrSplit(command, absl::ByAnyChar(" \t\r\"'"), absl::SkipEmpty()), &setters);
  }
  return setters;
}

}  // namespace evenkeel::cli
