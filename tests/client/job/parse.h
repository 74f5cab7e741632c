// Requests from flags of a job.
#ifndef EVENKEEL_TESTS_CLIENT_JOB_PARSE_H_
#define EVENKEEL_TESTS_CLIENT_JOB_PARSE_H_

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

inline v1::PlanJobRequest Parse(std::vector<std::string> arguments) {
  CLI::App app;
  JobFlags flags;
  AddJobFlags(&app, &flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return RequestFromFlags(flags);
}

// The flags that every job needs.
inline const std::vector<std::string> kThree = {"--model", "m", "--gpu", "g", "--gpus", "32"};

inline std::vector<std::string> Three(std::vector<std::string> more) {
  more.insert(more.begin(), kThree.begin(), kThree.end());
  return more;
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_JOB_PARSE_H_
