// Writes the mix of long_mix.h as JSON Lines, one sample per line, to try it on the command line:
//   build/tests/long_mix > long-mix.jsonl
#include <cstdio>
#include <cstdlib>

#include "tests/planner/long_mix.h"

int main(int argc, char** argv) {
  using namespace evenkeel::planner;  // NOLINT
  LongMixParameters parameters;
  if (argc > 2) {
    std::fprintf(stderr, "usage: %s [SHORT_SAMPLES]\n", argv[0]);
    return 2;
  }
  if (argc == 2) {
    const double share = std::atof(argv[1]) / static_cast<double>(parameters.short_samples);
    parameters.short_samples = static_cast<size_t>(std::atoll(argv[1]));
    parameters.long_samples =
        static_cast<size_t>(share * static_cast<double>(parameters.long_samples));
  }
  for (const int32_t tokens : MakeLongMix(parameters).tokens)
    std::printf("{\"token_num\": %d}\n", tokens);
  return 0;
}
