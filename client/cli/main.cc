#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/app.h"

namespace {

// A stream that is closed gets a descriptor that can not be used the way it is meant to be: what is
// opened later must not take its number and be written errors into.
void HoldStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStreams();
  signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error like others
  std::setlocale(LC_CTYPE, "");
  // gRPC's own log would repeat on stderr what we say better. A value that is set stands.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return evenkeel::cli::RunApp(std::vector<std::string>(argv, argv + argc));
}
