// Shows what was read of a configuration, what it will do, and what to change first.
#ifndef EVENKEEL_CLIENT_CLI_FROM_ADVISE_RENDER_FROM_H_
#define EVENKEEL_CLIENT_CLI_FROM_ADVISE_RENDER_FROM_H_

#include <string>

#include "client/cli/base/text.h"
#include "client/cli/from/advise/changes.h"
#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

struct FromAnswer {
  std::string path;
  UserConfig config;
  UserRun run;
  v1::EvaluatePlanRequest request;
  v1::EvaluatePlanResponse response;
  Changes changes;
  std::string computed_by;
};

std::string RenderFrom(const Style& style, const FromAnswer& answer);

// The same as JSON, with the messages of the contract in it.
std::string FromAnswerJson(const FromAnswer& answer);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_ADVISE_RENDER_FROM_H_
