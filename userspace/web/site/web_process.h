// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace oomw {

inline constexpr int kWebListenerFd = 3, kWebDaemonFd = 4;  // as the daemon hands them over

// The hidden command that the daemon starts for the first connection: `PROGRAM web-process PARENT_PID DATA_DIR
// PATTERNS` (OperationPatterns::text()), with the listening socket and a socket to the daemon. Gives up its
// capabilities, serves the site, and ends when nobody asked anything for kWebIdle. Returns the exit code.
[[nodiscard]] int run_web_process(int argc, const char* const* argv);

}  // namespace oomw
