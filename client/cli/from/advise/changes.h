// Single changes of a run, each evaluated like the run itself.
#ifndef EVENKEEL_CLIENT_CLI_FROM_ADVISE_CHANGES_H_
#define EVENKEEL_CLIENT_CLI_FROM_ADVISE_CHANGES_H_

#include <string>
#include <vector>

#include "client/cli/backend/backend.h"
#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// One change and what it gives.
struct Change {
  std::string text;      // "tensor parallelism 4 instead of 8"
  std::string argument;  // what to write in the configuration
  v1::Plan evaluated;
  double sample_seconds = 0;
  bool fits = false;
  UserRun run;
};

struct Changes {
  int tried = 0;             // evaluated, of which the others are no better
  std::vector<Change> best;  // quickest first
};

// Returns changes that keep something in host memory, if the run does not fit, or nothing there, if
// it keeps something. They are not evaluated.
std::vector<Change> OffloadChanges(const UserRun& run, bool fits, ConfigFormat format);

// Returns at most `most` changes that fit and make the run quicker or, if it does not fit, fit.
Changes FirstChanges(const UserRun& run, const v1::Plan& evaluated, ConfigFormat format,
                     const ModelLayers& layers, size_t most, Backend* backend);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_ADVISE_CHANGES_H_
