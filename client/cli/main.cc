#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/app.h"

namespace {

// Gives a closed standard stream a descriptor with which it does not work. Otherwise a file that is
// opened later could take its number, and error messages would be written into it.
void HoldStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStreams();
  signal(SIGPIPE, SIG_IGN);  // turns a lost reader into an ordinary error
  std::setlocale(LC_CTYPE, "");
  // gRPC's own log would repeat on stderr the faults that our messages explain better. A value that
  // the user set is kept.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return evenkeel::cli::RunApp(std::vector<std::string>(argv, argv + argc));
}
