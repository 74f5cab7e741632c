#include "server/auth/policy_json.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/auth/principal.h"
#include "server/auth/roles.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr size_t kMaxFaultsTold = 20;
constexpr size_t kMaxQuotedBytes = 80;
constexpr size_t kMaxDescriptionBytes = 1000;
constexpr size_t kMaxTenantBytes = 63;
constexpr int kMaxDepth = 8;  // depth of nested lists and objects; the format needs 4

struct TooDeep {};

std::string Quoted(std::string_view text) {
  const bool is_long = text.size() > kMaxQuotedBytes;
  const json shown = std::string(text.substr(0, kMaxQuotedBytes)) + (is_long ? "..." : "");
  return shown.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

// Returns the text in ASCII, because the library's messages quote the bytes of the file unchanged.
std::string Printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

std::string At(const std::string& path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

bool IsTenant(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kMaxTenantBytes && is_alphanumeric(name.front()) &&
         is_alphanumeric(name.back()) && std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alphanumeric(c) || c == '-';
         });
}

// Finds keys that occur twice in an object, because the parser would silently keep the last one.
class DuplicateKeys {
 public:
  // Callback for json::parse.
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMaxDepth) throw TooDeep{};
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        frames_.push_back({event == json::parse_event_t::array_start, 0, "", {}});
        break;
      case json::parse_event_t::key:
        frames_.back().key = parsed.get<std::string>();
        if (!frames_.back().keys.insert(frames_.back().key).second && found_.empty()) {
          found_ = Path() + ": stands twice in one object";
        }
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        frames_.pop_back();
        [[fallthrough]];
      case json::parse_event_t::value:
        if (!frames_.empty() && frames_.back().is_array) ++frames_.back().index;
        break;
    }
    return true;
  }

  const std::string& found() const { return found_; }

 private:
  struct Frame {
    bool is_array = false;
    size_t index = 0;
    std::string key;
    std::set<std::string> keys;
  };

  std::string Path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.is_array) {
        path = At(path, frame.index);
      } else {
        path += (path.empty() ? "" : ".") + frame.key;
      }
    }
    return Quoted(path);
  }

  std::vector<Frame> frames_;
  std::string found_;
};

class Reader {
 public:
  std::vector<PolicyRule> Read(const json& root) {
    if (!root.is_object()) {
      Fault("", "must be an object {\"version\": 1, \"rules\": [...]}");
      return {};
    }
    KnownKeys(root, "", {"version", "rules"});
    if (!root.contains("version") || root["version"] != kVersion) {
      Fault("version", "must be 1, the version of this format");
    }
    std::vector<PolicyRule> rules;
    if (!IsList(root, "", "rules", kMaxPolicyRules)) return rules;
    for (const json& rule : root["rules"]) rules.push_back(Rule(rule, At("rules", rules.size())));
    if (faults_.empty()) FindUnreached(rules);
    return rules;
  }

  std::string faults() const {
    std::string all;
    for (size_t i = 0; i < std::min(faults_.size(), kMaxFaultsTold); ++i) {
      all += (all.empty() ? "" : "; ") + faults_[i];
    }
    if (faults_.size() > kMaxFaultsTold) {
      all += "; and " + std::to_string(faults_.size() - kMaxFaultsTold) + " more";
    }
    return all;
  }

 private:
  void Fault(const std::string& path, const std::string& what) {
    faults_.push_back(path.empty() ? what : path + ": " + what);
  }

  void KnownKeys(const json& object, const std::string& path, const std::set<std::string>& known) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& [key, value] : object.items()) {
      if (known.count(key) == 0) {
        Fault(prefix + Quoted(key), "is not a key of this format; there are " + names);
      }
    }
  }

  bool IsList(const json& object, const std::string& path, const char* key, size_t most) {
    const std::string prefix = path.empty() ? "" : path + ".";
    if (object.contains(key) && object[key].is_array() && !object[key].empty() &&
        object[key].size() <= most) {
      return true;
    }
    Fault(prefix + key, "must be a list of 1 to " + std::to_string(most));
    return false;
  }

  // Returns the texts of an optional list that pass `check`, which says what is wrong with a text.
  std::vector<std::string> Texts(const json& object, const std::string& path, const char* key,
                                 size_t most,
                                 const std::function<std::string(const std::string&)>& check) {
    std::vector<std::string> texts;
    if (!object.contains(key) || !IsList(object, path, key, most)) return texts;
    std::set<std::string> seen;
    for (size_t i = 0; i < object[key].size(); ++i) {
      const json& item = object[key][i];
      const std::string place = At(path + "." + key, i);
      const std::string text = item.is_string() ? item.get<std::string>() : "";
      const std::string shown = item.is_string() ? Quoted(text) + " " : "";
      const std::string wrong = check(text);
      if (!wrong.empty()) {
        Fault(place, shown + wrong);
      } else if (!seen.insert(text).second) {
        Fault(place, shown + "stands twice in this list");
      } else {
        texts.push_back(text);
      }
    }
    return texts;
  }

  PolicyRule Rule(const json& object, const std::string& path) {
    PolicyRule rule;
    if (!object.is_object()) {
      Fault(path, "must be an object with principals, and roles or methods");
      return rule;
    }
    KnownKeys(object, path, {"description", "principals", "tenant", "roles", "methods"});
    if (!object.contains("principals")) Fault(path + ".principals", "is missing");
    rule.principals = Texts(object, path, "principals", kMaxPrincipalsOfRule,
                            [](const std::string& text) { return CheckPrincipal(text); });
    rule.roles = Texts(object, path, "roles", kMaxPolicyRules, [](const std::string& text) {
      return IsRole(text) ? "" : "must be planner.read, planner.plan, planner.calibrate or admin";
    });
    rule.methods = Texts(object, path, "methods", kMaxPolicyRules, [](const std::string& text) {
      if (IsMethod(text)) return std::string();
      std::string names;
      for (const auto& known : RolesOfMethods()) {
        names += (names.empty() ? "" : ", ") + std::string(known.method);
      }
      return "must be a method: " + names;
    });
    if (!object.contains("roles") && !object.contains("methods")) {
      Fault(path, "needs roles or methods: it grants nothing");
    }
    rule.tenant = Tenant(object, path);
    const json description = object.value("description", json(""));
    if (!description.is_string() ||
        description.get_ref<const std::string&>().size() > kMaxDescriptionBytes) {
      Fault(path + ".description", "must be a text of at most 1000 bytes");
    }
    return rule;
  }

  std::string Tenant(const json& object, const std::string& path) {
    if (!object.contains("tenant")) return {};
    const json& tenant = object["tenant"];
    if (tenant.is_string()) {
      const std::string name = tenant.get<std::string>();
      if (name.empty() || IsTenant(name)) return name;
    }
    Fault(path + ".tenant",
          "must be 1 to 63 of a-z, 0-9 and '-', with a letter or digit at both ends, or empty for "
          "the default tenant");
    return {};
  }

  // Reports principals that an earlier rule already names, because their rights differ from what
  // the later rule says.
  void FindUnreached(const std::vector<PolicyRule>& rules) {
    std::map<std::string, size_t> taken;
    for (size_t i = 0; i < rules.size(); ++i) {
      for (size_t k = 0; k < rules[i].principals.size(); ++k) {
        const std::string& principal = rules[i].principals[k];
        const auto [first, is_new] = taken.emplace(principal, i);
        const std::string* by = is_new ? nullptr : &first->first;
        const auto anyone = taken.find(std::string(kAnyone));
        if (anyone != taken.end() && anyone->second < i) by = &anyone->first;
        for (size_t at = principal.find('/', 9); at != std::string::npos && by == nullptr;
             at = principal.find('/', at + 1)) {
          const auto above = taken.find(principal.substr(0, at + 1) + "*");
          if (above != taken.end() && above->second < i) by = &above->first;
        }
        if (by == nullptr) continue;
        Fault(At(At("rules", i) + ".principals", k),
              Quoted(principal) + " is never reached: " + At("rules", taken[*by]) + " has " +
                  Quoted(*by) + ", and the first rule that names a caller decides");
      }
    }
  }

  std::vector<std::string> faults_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Policy>> ParsePolicy(std::string_view text) {
  if (text.size() > kMaxPolicyBytes) {
    return absl::InvalidArgumentError(absl::StrCat("is larger than ", kMaxPolicyBytes, " bytes"));
  }
  DuplicateKeys duplicates;
  json root;
  try {
    root = json::parse(text.begin(), text.end(), std::ref(duplicates));
  } catch (const json::exception& fault) {
    const std::string_view what = fault.what();
    const size_t end = what.find("] ");  // end of the library's error number
    return absl::InvalidArgumentError("is not JSON: " +
                                      Printable(what.substr(end == what.npos ? 0 : end + 2, 300)));
  } catch (const TooDeep&) {
    return absl::InvalidArgumentError("nests lists or objects too deeply");
  }
  if (const std::string found = duplicates.found(); !found.empty()) {
    return absl::InvalidArgumentError(found);
  }
  Reader reader;
  std::vector<PolicyRule> rules = reader.Read(root);
  if (const std::string faults = reader.faults(); !faults.empty()) {
    return absl::InvalidArgumentError(faults);
  }
  return std::make_shared<const Policy>(std::move(rules));
}

}  // namespace evenkeel::server
