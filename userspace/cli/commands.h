// SPDX-License-Identifier: Apache-2.0
// The commands that work on this node or use its configuration; same conventions as in read_commands.h.
#pragma once

#include "cli/read/read_commands.h"
#include "daemon/config.h"

namespace oomw::cli {

[[nodiscard]] int run_command(const CommandLine& line, Config config);
[[nodiscard]] int doctor_command(const CommandLine& line, const Config& config);
[[nodiscard]] int capture_command(const CommandLine& line, const Config& config);
// The hidden command of reader/child.h.
[[nodiscard]] int reader_command(int argc, const char* const* argv);
// The pages and the API of a data directory, until interrupted.
[[nodiscard]] int web_command(const CommandLine& line, const Config& config);
[[nodiscard]] int trend_command(const CommandLine& line, const Config& config);
[[nodiscard]] int fetch_command(const CommandLine& line, const Config& config);
[[nodiscard]] int holders_command(const CommandLine& line, const Config& config);
[[nodiscard]] int goroutines_command(const CommandLine& line, const Config& config);
[[nodiscard]] int replay_command(const CommandLine& line, const Config& config);

}  // namespace oomw::cli
