// How operations of a pipeline are called and marked.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_OPERATION_NAMES_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_OPERATION_NAMES_H_

#include <string>

#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::cli {

// One operation of Operations' columns.
struct TimelineOperation {
  v1::OperationKind kind;
  int chunk;  // -1: none
  int pack;   // -1: none
  double start_seconds;
  double end_seconds;
};
TimelineOperation OperationAt(const v1::Operations& operations, int i);

// "forward", "send of activations", ...
const char* OperationName(v1::OperationKind kind);

// Class of its marks in a report.
const char* OperationStyle(v1::OperationKind kind);

// Whether it keeps the GPU computing on a pack.
bool IsPass(v1::OperationKind kind);

// Whether it moves data over the data-parallel ranks.
bool IsDataParallel(v1::OperationKind kind);

// "backward of pack 3 (virtual stage 1)"; the virtual stage is left out where stages have one.
std::string OperationText(v1::OperationKind kind, int chunk, int pack, int virtual_stages);

// The columns have one length on every stage. False: not what the contract says.
bool IsWellFormed(const v1::Timeline& timeline);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_OPERATION_NAMES_H_
