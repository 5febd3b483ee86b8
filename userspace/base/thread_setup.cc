// SPDX-License-Identifier: Apache-2.0
#include "base/thread_setup.h"

#include <pthread.h>

#include <csignal>

namespace oomw {

void set_up_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  sigset_t blocked;
  sigfillset(&blocked);
  // A blocked fault would end the process without the sanitizers' or the kernel's report of it.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

}  // namespace oomw
