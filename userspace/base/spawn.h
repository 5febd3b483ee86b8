// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace oomw {

inline constexpr int kFirstGivenFd = 3;

// Starts a program that has nothing of this process but `given`, which it finds as kFirstGivenFd and those behind it:
// its standard descriptors are /dev/null, its environment is empty, its signals are as a program expects them.
// words: its path and its arguments. Any thread. posix_spawn() is vfork(): no copy of the daemon's page tables.
[[nodiscard]] Result<pid_t> spawn_alone(std::vector<std::string> words, const std::vector<int>& given);

}  // namespace oomw
