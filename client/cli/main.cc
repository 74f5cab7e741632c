#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/app.h"

namespace {

// Gives a closed standard stream a descriptor that does not work for it. A file that is opened
// later can then not take its number and have error messages written into it.
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
  // gRPC's own log would repeat on stderr what we say better. A value that the user set stands.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return evenkeel::cli::RunApp(std::vector<std::string>(argv, argv + argc));
}
