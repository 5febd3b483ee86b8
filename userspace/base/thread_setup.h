// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace oomw {

// For the first lines of every thread but the main one: names it (the kernel keeps 15 bytes) and
// blocks all signals except those a fault raises, so that SIGTERM always reaches the core
// thread's signalfd whatever the order of start.
void set_up_thread(const std::string& name);

}  // namespace oomw
