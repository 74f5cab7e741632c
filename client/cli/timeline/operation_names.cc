#include "client/cli/timeline/operation_names.h"

#include <fmt/format.h>

namespace evenkeel::cli {

TimelineOperation OperationAt(const v1::Operations& operations, int i) {
  return {static_cast<v1::OperationKind>(operations.kinds(i)), operations.chunks(i),
          operations.packs(i), operations.start_seconds(i), operations.end_seconds(i)};
}

const char* OperationName(v1::OperationKind kind) {
  switch (kind) {
    case v1::OPERATION_KIND_PARAMETER_GATHER:
      return "parameter gather";
    case v1::OPERATION_KIND_FORWARD:
      return "forward";
    case v1::OPERATION_KIND_RECOMPUTE:
      return "recompute";
    case v1::OPERATION_KIND_BACKWARD:
      return "backward";
    case v1::OPERATION_KIND_WEIGHT_GRADIENT:
      return "weight gradient";
    case v1::OPERATION_KIND_SEND_ACTIVATION:
      return "send of activations";
    case v1::OPERATION_KIND_SEND_GRADIENT:
      return "send of gradients";
    case v1::OPERATION_KIND_GRADIENT_SYNC:
      return "gradient reduction";
    case v1::OPERATION_KIND_OPTIMIZER:
      return "optimizer";
    default:
      return "operation";
  }
}

const char* OperationStyle(v1::OperationKind kind) {
  switch (kind) {
    case v1::OPERATION_KIND_FORWARD:
      return "forward";
    case v1::OPERATION_KIND_RECOMPUTE:
      return "recompute";
    case v1::OPERATION_KIND_BACKWARD:
      return "backward";
    case v1::OPERATION_KIND_WEIGHT_GRADIENT:
      return "weight";
    case v1::OPERATION_KIND_SEND_ACTIVATION:
    case v1::OPERATION_KIND_SEND_GRADIENT:
      return "send";
    case v1::OPERATION_KIND_PARAMETER_GATHER:
      return "gather";
    case v1::OPERATION_KIND_GRADIENT_SYNC:
      return "sync";
    case v1::OPERATION_KIND_OPTIMIZER:
      return "optimizer";
    default:
      return "idle";
  }
}

bool IsPass(v1::OperationKind kind) {
  return kind == v1::OPERATION_KIND_FORWARD || kind == v1::OPERATION_KIND_RECOMPUTE ||
         kind == v1::OPERATION_KIND_BACKWARD || kind == v1::OPERATION_KIND_WEIGHT_GRADIENT;
}

bool IsDataParallel(v1::OperationKind kind) {
  return kind == v1::OPERATION_KIND_PARAMETER_GATHER || kind == v1::OPERATION_KIND_GRADIENT_SYNC;
}

std::string OperationText(v1::OperationKind kind, int chunk, int pack, int virtual_stages) {
  std::string text = OperationName(kind);
  if (pack >= 0) text += fmt::format(" of pack {}", pack);
  if (chunk >= 0 && virtual_stages > 1) text += fmt::format(" (virtual stage {})", chunk);
  return text;
}

bool IsWellFormed(const v1::Timeline& timeline) {
  for (const v1::StageTimeline& stage : timeline.stages()) {
    const v1::Operations& operations = stage.operations();
    const int count = operations.kinds_size();
    if (operations.chunks_size() != count || operations.packs_size() != count ||
        operations.start_seconds_size() != count || operations.end_seconds_size() != count ||
        stage.memory().at_seconds_size() != stage.memory().held_bytes_size()) {
      return false;
    }
  }
  return true;
}

}  // namespace evenkeel::cli
