// Writes a simulated step for trace viewers.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_CHROME_TRACE_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_CHROME_TRACE_H_

#include <string>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::cli {

// Returns the Trace Event Format as JSON, for ui.perfetto.dev and chrome://tracing. Each stage is a
// process with threads for compute, sends and data-parallel communication, and a counter of its
// memory. Names end in numbers, which viewers ignore when they choose colours. The plan is needed
// for names only. Returns "" if the timeline is not well-formed.
std::string ChromeTrace(const v1::Plan& plan, const v1::Timeline& timeline);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_CHROME_TRACE_H_
