#include "server/cache/bus_guard.h"

#include <setjmp.h>
#include <signal.h>

#include <mutex>

namespace evenkeel::server {
namespace {

thread_local sigjmp_buf* way_out = nullptr;

// Whoever touches such a page without a guard ends the process, as without this handler.
void OnBus(int number) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  signal(number, SIG_DFL);
  raise(number);
}

void Install() {
  struct sigaction action {};
  action.sa_handler = &OnBus;
  action.sa_flags = SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

bool GuardBus(void (*call)(void*), void* argument) {
  static std::once_flag installed;
  std::call_once(installed, &Install);
  sigjmp_buf here;
  // The signal mask is saved by the kernel only where asked: SA_NODEFER leaves it alone.
  if (sigsetjmp(here, 0) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  call(argument);
  way_out = nullptr;
  return true;
}

}  // namespace evenkeel::server
