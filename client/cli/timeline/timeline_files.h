// --trace and --report: write the simulated step of a plan to files.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_TIMELINE_FILES_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_TIMELINE_FILES_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

struct TimelineFlags {
  std::string trace, report;
  bool force = false;

  bool any() const { return !trace.empty() || !report.empty(); }
};

// Declares the flags on `command`. They are written to *flags, which must outlive the parsing.
void AddTimelineFlags(CLI::App* command, TimelineFlags* flags);

// Throws CommandError(kBadInput) if a file already exists.
void CheckTimelineFlags(const TimelineFlags& flags);

// Returns the request for the timeline of our own `plan` for `job`: EvaluatePlan of its decisions.
v1::EvaluatePlanRequest TimelineRequest(const v1::Job& job, const v1::Plan& plan);

// Writes the files that the flags ask for. Returns one line for each. Throws CommandError if a file
// cannot be written, or if the timeline is not well-formed.
std::vector<std::string> WriteTimeline(const TimelineFlags& flags, const v1::Plan& plan,
                                       const v1::Timeline& timeline);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_TIMELINE_FILES_H_
