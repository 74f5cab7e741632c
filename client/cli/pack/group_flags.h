// Packing groups on the command line: --groups 16384:1,131072:8.
#ifndef EVENKEEL_CLIENT_CLI_PACK_GROUP_FLAGS_H_
#define EVENKEEL_CLIENT_CLI_PACK_GROUP_FLAGS_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>

#include "evenkeel/v1/batching.pb.h"

namespace evenkeel::cli {

// Parses "LENGTH:SP[:PACKS_PER_RANK],...": SP of the `ranks` data-parallel ranks share a pack, and
// ranks / SP remain. If packs per rank are not given, they are set so that every group has about
// the same number of tokens per step. That number is the largest that a group has with
// `packs_per_rank`. Throws CommandError(kBadInput).
google::protobuf::RepeatedPtrField<v1::PackingGroup> ParseGroups(const std::string& text,
                                                                 int32_t ranks,
                                                                 int32_t packs_per_rank);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_GROUP_FLAGS_H_
