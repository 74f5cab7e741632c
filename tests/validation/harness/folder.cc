#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

Json Parse(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("can not read " + path.string());
  Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw std::runtime_error(path.string() + " is not JSON");
  return json;
}

// Reads a row. Its keys determine its schema.
void ReadRow(const std::string& file, const Json& whole, const Json& row, Cases& cases) {
  if (row.contains("config") && row.contains("measured")) return ReadMegatronRow(file, row, cases);
  if (row.contains("model") && row.contains("tp") && row.contains("measured"))
    return ReadSimuMaxRow(file, whole, row, cases);
  if (row.contains("hidden") && row.contains("layers") && row.contains("tp"))
    return ReadFlatRow(file, whole, row, cases);
  cases.uncovered.push_back({file, Text(row, "id", "?"), "no schema that is known"});
}

void ReadFile(const std::string& file, const Json& whole, Cases& cases) {
  if (!whole.is_object()) return cases.uncovered.push_back({file, "*", "no object with rows"});
  bool known = false;
  const auto read = [&](const char* key, auto reader) {
    if (!whole.contains(key)) return;
    known = true;
    reader(file, whole, cases);
  };
  read("t5_iteration", ReadKorthikanti);
  read("t4_min_gc_layers", ReadHbp);
  read("t9_models", ReadOmniBal);
  for (const char* key : {"rows", "mtnlg_530b"}) {
    const Json& rows = Child(whole, key);
    if (!rows.is_array()) continue;
    known = true;
    for (const Json& row : rows) ReadRow(file, whole, row, cases);
  }
  if (!known) cases.uncovered.push_back({file, "*", "no schema that is known"});
}

void ReadIndex(const std::filesystem::path& path, Cases& cases) {
  if (!std::filesystem::exists(path)) return;
  const Json whole = Parse(path);
  for (const Json& entry : Child(whole, "cases")) {
    const std::filesystem::path file = Text(entry, "file");
    cases.index.push_back({Text(entry, "area"), file.stem().string(), Text(entry, "row"),
                           Text(entry, "metric"), Real(entry, "tolerance_pct") / 100});
  }
}

// Returns the folder's *.json files except cases.json, in order.
std::vector<std::filesystem::path> FilesOf(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json" && entry.path().stem() != "cases")
      paths.push_back(entry.path());
  }
  if (paths.empty()) throw std::runtime_error("no *.json in " + folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Cases ReadFolder(const std::string& folder) {
  Cases cases;
  for (const auto& path : FilesOf(folder)) ReadFile(path.stem().string(), Parse(path), cases);
  ReadIndex(std::filesystem::path(folder) / "cases.json", cases);
  return cases;
}

Cases ReadPublishedRuns(const std::string& path, const planner::Trainer* every) {
  Cases cases;
  if (std::filesystem::is_directory(path)) {
    for (const auto& file : FilesOf(path)) ReadRuns(Parse(file), every, cases);
    return cases;
  }
  std::ifstream in(path);
  if (!in) throw std::runtime_error("can not read " + path);
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object())
      throw std::runtime_error(path + ", line " + std::to_string(number) + ": no JSON object");
    ReadRun(Text(row, "family", "?"), row, every, cases);
  }
  return cases;
}

}  // namespace evenkeel::validation
