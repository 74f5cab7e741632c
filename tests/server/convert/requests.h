// Requests that tests start from.
#ifndef EVENKEEL_TESTS_SERVER_CONVERT_REQUESTS_H_
#define EVENKEEL_TESTS_SERVER_CONVERT_REQUESTS_H_

#include <string>
#include <string_view>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"

namespace evenkeel::server {

// Parses a request in text format. If that fails, fails the test and returns an empty request.
v1::PlanJobRequest Parse(const std::string& text);

// Returns the smallest request that PlanJob accepts: a catalogue model on 32 GPUs of a catalogue
// type.
std::string MinimalText();
// Returns a request that describes everything in full and nothing by name, with every field of an
// accepted kind set.
std::string DescribedText();

// Returns the job of a request that must be valid. Violations fail the test.
planner::Job JobOf(const v1::PlanJobRequest& request);
planner::Job JobOf(const std::string& text);

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_CONVERT_REQUESTS_H_
