#include <clocale>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/app.h"

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  // gRPC's own log would repeat on stderr what we say better. A value that is set stands.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return evenkeel::cli::RunApp(std::vector<std::string>(argv, argv + argc));
}
