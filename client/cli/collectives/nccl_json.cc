// The JSON that nccl-tests writes with -J (version 2 of its format).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "client/cli/collectives/nccl_run.h"

namespace evenkeel::cli {
namespace {

using NcclJson = nlohmann::json;

const NcclJson& Member(const NcclJson& of, const char* key, const std::string& where) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  if (!of.is_object() || found == of.end())
    FailNccl(where, fmt::format("lacks \"{}\", which nccl-tests writes", key));
  return *found;
}

int64_t WholeMember(const NcclJson& of, const char* key, int64_t least, const std::string& where) {
  const NcclJson& value = Member(of, key, where);
  const bool good = value.is_number_integer() && value >= least && value <= int64_t{1} << 50;
  if (!good) FailNccl(where, fmt::format("\"{}\" must be a whole number from {}", key, least));
  return value.get<int64_t>();
}

std::string TextMember(const NcclJson& of, const char* key, const std::string& where) {
  const NcclJson& value = Member(of, key, where);
  if (!value.is_string()) FailNccl(where, fmt::format("\"{}\" must be a text", key));
  return value.get<std::string>();
}

const NcclJson& ListMember(const NcclJson& of, const char* key, const std::string& where) {
  const NcclJson& value = Member(of, key, where);
  if (!value.is_array()) FailNccl(where, fmt::format("\"{}\" must be a list", key));
  return value;
}

// A process lists its first GPU only, and has a rank for each thread's GPUs.
void ReadDevices(const NcclJson& config, const std::string& where, NcclRun* run) {
  const int64_t each =
      WholeMember(config, "nthreads", 1, where) * WholeMember(config, "ngpus", 1, where);
  const NcclJson& devices = ListMember(config, "devices", where);
  int64_t first = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string at = fmt::format("{}.devices[{}]", where, i);
    const int64_t group = WholeMember(devices[i], "group", 0, at);
    if (i == 0) first = group;
    if (group == first) run->ranks_of_host[TextMember(devices[i], "hostname", at)] += each;
    run->gpus.insert(TextMember(devices[i], "device_info", at));
  }
}

void ReadResult(const NcclJson& result, const std::string& where, NcclRun* run) {
  const int64_t bytes = WholeMember(result, "size", 0, where);
  const NcclJson& out = Member(result, "out_of_place", where);
  const std::string at = where + ".out_of_place";
  const NcclJson& time = Member(out, "time", at);
  if (!time.is_number()) FailNccl(at, "\"time\" must be a number of microseconds");
  const NcclJson& wrong = Member(out, "nwrong", at);
  if (wrong.is_number() && wrong != 0)
    FailNccl(at, fmt::format("{} values were wrong: such a run measures nothing", wrong.dump()));
  AddNcclTime(at, bytes, time.get<double>(), run);
}

}  // namespace

std::vector<NcclRun> ReadNcclJson(std::string_view text, const std::string& file) {
  const NcclJson json = NcclJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) FailNccl(file, "is no JSON: what nccl-tests writes with -J is needed");
  NcclRun run;
  run.where = file;
  const NcclJson& arguments = ListMember(json, "args", file);
  if (!arguments.empty() && arguments.front().is_string())
    run.program = arguments.front().get<std::string>();
  ReadDevices(Member(json, "config", file), file + ": config", &run);
  const NcclJson& results = ListMember(json, "results", file);
  for (size_t i = 0; i < results.size(); ++i)
    ReadResult(results[i], fmt::format("{}: results[{}]", file, i), &run);
  return {std::move(run)};
}

}  // namespace evenkeel::cli
