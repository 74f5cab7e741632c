#include "client/cli/timeline/chrome_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "client/cli/render/plan.h"
#include "client/cli/timeline/operation_names.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

enum Thread { kCompute = 1, kSends = 2, kDataParallel = 3 };

// Converts to microseconds, which the format counts. The simulation has nanoseconds.
double Microseconds(double seconds) { return std::round(seconds * 1e9) / 1e3; }

Thread ThreadOf(v1::OperationKind kind) {
  if (IsDataParallel(kind)) return kDataParallel;
  if (kind == v1::OPERATION_KIND_SEND_ACTIVATION || kind == v1::OPERATION_KIND_SEND_GRADIENT) {
    return kSends;
  }
  return kCompute;
}

// Returns "forward 3", or "forward 1.3" for pack 3 on virtual stage 1.
std::string EventName(const TimelineOperation& operation, int virtual_stages) {
  std::string name = OperationName(operation.kind);
  if (operation.pack < 0) return name;
  return virtual_stages > 1 ? fmt::format("{} {}.{}", name, operation.chunk, operation.pack)
                            : fmt::format("{} {}", name, operation.pack);
}

class Trace {
 public:
  Trace(const v1::Plan& plan, const v1::Timeline& timeline) : plan_(plan), timeline_(timeline) {}

  std::string Write() {
    for (int s = 0; s < timeline_.stages_size(); ++s) {
      NameStage(s);
      const v1::Operations& operations = timeline_.stages(s).operations();
      for (int i = 0; i < operations.kinds_size(); ++i) AddOperation(s, OperationAt(operations, i));
      AddMemory(s, timeline_.stages(s).memory());
    }
    Json trace = {{"displayTimeUnit", "ms"},
                  {"otherData",
                   {{"plan_id", plan_.plan_id()},
                    {"schedule", timeline_.schedule_name()},
                    {"micro_batches", timeline_.micro_batches()},
                    {"data_parallel_rank", timeline_.data_index()}}},
                  {"traceEvents", std::move(events_)}};
    // Bytes that are not UTF-8 are replaced, because names come from the request.
    return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  void AddMeta(int stage, int thread, const char* what, Json arguments) {
    events_.push_back({{"ph", "M"},
                       {"pid", stage},
                       {"tid", thread},
                       {"name", what},
                       {"args", std::move(arguments)}});
  }

  void NameStage(int s) {
    std::string name = fmt::format("stage {}", s);
    if (s < plan_.stages_size()) name += ": " + LayersText(plan_.stages(s).layers(), 1000);
    AddMeta(s, 0, "process_name", {{"name", name}});
    AddMeta(s, 0, "process_sort_index", {{"sort_index", s}});
    const std::pair<Thread, const char*> threads[] = {
        {kCompute, "compute"}, {kSends, "sends"}, {kDataParallel, "data parallel"}};
    for (const auto& [thread, title] : threads) {
      AddMeta(s, thread, "thread_name", {{"name", title}});
      AddMeta(s, thread, "thread_sort_index", {{"sort_index", static_cast<int>(thread)}});
    }
  }

  void AddOperation(int s, const TimelineOperation& operation) {
    const double start = Microseconds(operation.start_seconds);
    Json arguments = Json::object();
    if (operation.pack >= 0) arguments["pack"] = operation.pack;
    if (operation.chunk >= 0) arguments["virtual_stage"] = operation.chunk;
    events_.push_back(
        {{"ph", "X"},
         {"pid", s},
         {"tid", static_cast<int>(ThreadOf(operation.kind))},
         {"name", EventName(operation, timeline_.virtual_stages())},
         {"cat", OperationStyle(operation.kind)},
         {"ts", start},
         {"dur", std::round((Microseconds(operation.end_seconds) - start) * 1e3) / 1e3},
         {"args", std::move(arguments)}});
  }

  void AddMemory(int s, const v1::MemoryCurve& memory) {
    for (int i = 0; i < memory.at_seconds_size(); ++i) {
      events_.push_back({{"ph", "C"},
                         {"pid", s},
                         {"name", "memory (bytes)"},
                         {"ts", Microseconds(memory.at_seconds(i))},
                         {"args", {{"held", memory.held_bytes(i)}}}});
    }
    if (memory.at_seconds_size() == 0) return;
    events_.push_back(
        {{"ph", "i"},
         {"pid", s},
         {"tid", static_cast<int>(kCompute)},
         {"s", "p"},
         {"name", "memory peak"},
         {"ts", Microseconds(memory.peak_at_seconds())},
         {"args",
          {{"bytes", memory.peak_bytes()}, {"passes_in_flight", memory.peak_in_flight()}}}});
  }

  const v1::Plan& plan_;
  const v1::Timeline& timeline_;
  Json events_ = Json::array();
};

}  // namespace

std::string ChromeTrace(const v1::Plan& plan, const v1::Timeline& timeline) {
  return IsWellFormed(timeline) ? Trace(plan, timeline).Write() : "";
}

}  // namespace evenkeel::cli
