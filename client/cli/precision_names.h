// Names of precisions on the command line and in its output.
#ifndef EVENKEEL_CLIENT_CLI_PRECISION_NAMES_H_
#define EVENKEEL_CLIENT_CLI_PRECISION_NAMES_H_

#include <string>
#include <utility>

#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {

inline constexpr std::pair<const char*, v1::Precision> kPrecisionNames[] = {
    {"bf16", v1::PRECISION_BF16},
    {"fp16", v1::PRECISION_FP16},
    {"fp8", v1::PRECISION_FP8},
    {"fp8-delayed", v1::PRECISION_FP8_DELAYED},
    {"fp8-block", v1::PRECISION_FP8_BLOCK},
    {"mxfp8", v1::PRECISION_MXFP8},
    {"nvfp4", v1::PRECISION_NVFP4}};

// Returns the name of a precision; "bf16" for one that is not set.
inline std::string PrecisionName(v1::Precision precision) {
  for (const auto& [name, value] : kPrecisionNames) {
    if (value == precision) return name;
  }
  return "bf16";
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PRECISION_NAMES_H_
