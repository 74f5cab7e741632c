// Shows a server's status page on the terminal.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_STATUS_H_
#define EVENKEEL_CLIENT_CLI_RENDER_STATUS_H_

#include <string>

#include "client/cli/base/text.h"

namespace evenkeel::cli {

// Renders `json`, the answer of /statusz?format=json. Throws CommandError(kError) if it is
// something else. Control characters in it are written out.
std::string RenderStatus(const Style& style, const std::string& json);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_STATUS_H_
