// The flags of `pack`, and the request that they make.
#ifndef EVENKEEL_CLIENT_CLI_PACK_PACK_FLAGS_H_
#define EVENKEEL_CLIENT_CLI_PACK_PACK_FLAGS_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/dataset/sample_lengths.h"
#include "evenkeel/v1/packing.pb.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// The flags as given. Unset flags leave the plan's rule, or the default, unchanged.
struct PackFlags {
  std::vector<std::string> files;
  std::string processor;  // path of the processor that makes lengths of media
  bool apart = false;
  std::string rule_file, plan_id;
  std::optional<int64_t> unit_cap, token_cap, keep_units, keep_tokens, seed, epoch;
  std::optional<int32_t> iterations, data_parallel, packs_per_rank, group;
  std::vector<int64_t> unit_scales;
  std::string packer, level, oversize, window, groups;
  std::optional<int64_t> curriculum;
  std::string output, xtuner, report;
  std::vector<std::string> xtuner_paths;
  bool force = false;
  bool json = false;
  bool compare = false;
};

// Declares the flags on `command`. They are written to *flags, which must outlive the parsing. A
// number out of its range is a CLI::ParseError.
void AddPackFlags(CLI::App* command, PackFlags* flags);

// Checks that the flags are consistent. Throws CommandError(kBadInput).
void CheckPackFlags(const PackFlags& flags);

// Checks that the flags are consistent with packing groups. Throws CommandError(kBadInput).
void CheckGroupFlags(const PackFlags& flags);

// A plan's settings of packing: its rule, and the shape of a step.
struct PlannedPacking {
  v1::BatchRule rule;
  int32_t data_parallel = 0;  // 0 if not given
  int32_t packs_per_rank = 0;
  google::protobuf::RepeatedPtrField<v1::PackingGroup> groups;
  int64_t curriculum_steps = 0;  // with groups: first steps that run only the shortest group
};
PlannedPacking PackingOf(const v1::Plan& plan);

// Reads a file that `plan --save` wrote, or one that holds a Plan or a BatchRule. Throws
// CommandError(kBadInput).
PlannedPacking ReadRuleFile(const std::string& path);

// Overrides `planned` by the flags. Throws CommandError(kBadInput) if something is missing. Checks
// that the server can make are left to it.
v1::PackDatasetStart StartFromFlags(const PackFlags& flags, const PlannedPacking& planned,
                                    const SampleLengths& samples);

// Makes the units that packs are made by, of samples with those of several encoders. Throws
// CommandError(kBadInput) if the rule is for another number of encoders.
void ScaleUnits(const v1::BatchRule& rule, SampleLengths* samples);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_PACK_FLAGS_H_
