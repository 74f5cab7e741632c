// Measures CPU time, which does not depend on other programs on the machine.
#ifndef EVENKEEL_TESTS_CPU_TIME_H_
#define EVENKEEL_TESTS_CPU_TIME_H_

#include <time.h>

namespace evenkeel {

// Returns the seconds of this thread so far.
inline double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace evenkeel

#endif  // EVENKEEL_TESTS_CPU_TIME_H_
