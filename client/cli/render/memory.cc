#include "client/cli/render/memory.h"

#include <algorithm>

#include "client/cli/base/table.h"

namespace evenkeel::cli {
namespace {

struct Part {
  const char* name;
  const char* short_name;  // for narrow terminals
  int64_t bytes;
};

std::vector<Part> Parts(const v1::MemoryParts& memory) {
  return {{"weights", "weights", memory.weights_bytes()},
          {"gradients", "grads", memory.gradients_bytes()},
          {"optimizer", "optim", memory.optimizer_bytes()},
          {"activations", "activ", memory.activations_bytes()},
          {"workspace", "work", memory.workspace_bytes()},
          {"NCCL", "NCCL", memory.communication_bytes()},
          {"CUDA", "CUDA", memory.framework_bytes()},
          {"allocator", "alloc", memory.allocator_reserve_bytes()}};
}

}  // namespace

std::string MemoryTable(const Style& style, const std::string& name_heading,
                        const std::vector<MemoryRow>& rows) {
  std::vector<Table::Column> columns = {{name_heading}};
  for (const Part& part : Parts({})) {
    columns.push_back({style.width >= 100 ? part.name : part.short_name});
  }
  columns.push_back({"total"});
  Table table(columns);
  for (const MemoryRow& row : rows) {
    std::vector<std::string> cells = {row.name};
    for (const Part& part : Parts(row.memory)) {
      cells.push_back(part.bytes == 0 ? "-" : Gib(part.bytes));
    }
    cells.push_back(Gib(row.memory.total_bytes()));
    table.Add(cells);
  }
  return table.Render(style);
}

std::string MemoryBars(const Style& style, const v1::MemoryParts& memory, int64_t capacity_bytes) {
  auto parts = Parts(memory);
  parts.push_back({"needed", "", memory.total_bytes()});
  parts.push_back({"capacity", "", capacity_bytes});
  const double largest =
      static_cast<double>(std::max<int64_t>({1, memory.total_bytes(), capacity_bytes}));
  const int width = std::max(10, style.width - 30);
  Table table({{"part", Align::kLeft}, {"GiB"}, {"", Align::kLeft}});
  for (const Part& part : parts) {
    table.Add(
        {part.name, Gib(part.bytes), Bar(style, static_cast<double>(part.bytes) / largest, width)});
  }
  return table.Render(style);
}

}  // namespace evenkeel::cli
