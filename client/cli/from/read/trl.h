// TRL's command, which takes options of `accelerate launch` among its arguments.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_TRL_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_TRL_H_

#include <string>

namespace evenkeel::cli {

// Returns the launch file that TRL ships under this name, and the name by which messages call it.
// The text is empty if there is none.
struct LaunchProfile {
  std::string text, name;
};
LaunchProfile LaunchProfileOf(const std::string& name);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_TRL_H_
