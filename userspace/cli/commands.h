// SPDX-License-Identifier: Apache-2.0
// One function per command, one file each. They print to stdout, problems to stderr as one line,
// and return the exit code.
#pragma once

#include "cli/command_line.h"
#include "daemon/config.h"

namespace oomw::cli {

[[nodiscard]] int run_command(const CommandLine& line, Config config);
[[nodiscard]] int doctor_command(const CommandLine& line, const Config& config);
[[nodiscard]] int incidents_command(const CommandLine& line, const Config& config);
[[nodiscard]] int show_command(const CommandLine& line, const Config& config);
[[nodiscard]] int capture_command(const CommandLine& line, const Config& config);
[[nodiscard]] int trend_command(const CommandLine& line, const Config& config);
[[nodiscard]] int top_command(const CommandLine& line);
[[nodiscard]] int diff_command(const CommandLine& line, const Config& config);
[[nodiscard]] int render_command(const CommandLine& line, const Config& config);
[[nodiscard]] int replay_command(const CommandLine& line, const Config& config);

// "oomwitness: MESSAGE" on stderr; returns kFailed.
int report(const Error& error);

}  // namespace oomw::cli
