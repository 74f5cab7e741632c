// Names and marks of the operations of a pipeline.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_OPERATION_NAMES_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_OPERATION_NAMES_H_

#include <string>

#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::cli {

// One operation, from Operations' columns.
struct TimelineOperation {
  v1::OperationKind kind;
  int chunk;  // -1 for none
  int pack;   // -1 for none
  double start_seconds;
  double end_seconds;
};
TimelineOperation OperationAt(const v1::Operations& operations, int i);

// Returns "forward", "send of activations", ...
const char* OperationName(v1::OperationKind kind);

// Returns the class of the operation's marks in a report.
const char* OperationStyle(v1::OperationKind kind);

// Returns whether the operation keeps the GPU computing on a pack.
bool IsPass(v1::OperationKind kind);

// Returns whether the operation moves data between data-parallel ranks.
bool IsDataParallel(v1::OperationKind kind);

// Returns "backward of pack 3 (virtual stage 1)"; the virtual stage is left out if stages have only
// one.
std::string OperationText(v1::OperationKind kind, int chunk, int pack, int virtual_stages);

// Returns whether the columns of every stage have equal length, as the contract requires.
bool IsWellFormed(const v1::Timeline& timeline);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_OPERATION_NAMES_H_
