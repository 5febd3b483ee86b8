// SPDX-License-Identifier: Apache-2.0
// The commands that read incidents and profiles, and need neither a daemon nor the kernel: this folder links neither
// libcurl nor libbpf. One function per command, one file each. They print results to stdout and problems to
// stderr as one line, and return the exit code.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/read/command_line.h"
#include "facts/operation_patterns.h"

namespace oomw::cli {

[[nodiscard]] int incidents_command(const CommandLine& line, const std::string& data_dir);
[[nodiscard]] int show_command(const CommandLine& line, const std::string& data_dir);
[[nodiscard]] int export_command(const CommandLine& line, const std::string& data_dir);
[[nodiscard]] int top_command(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns);
[[nodiscard]] int diff_command(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns);
[[nodiscard]] int render_command(const CommandLine& line, const std::string& data_dir,
                                 const OperationPatterns& patterns);

// For shells, and for whoever packages: not among the commands that help lists.
[[nodiscard]] int complete_command(const std::vector<std::string>& words);
[[nodiscard]] int man_command();

// " --config C --data-dir D" as they were given, "" where they were not: a command that is advised must read the same
// incidents.
[[nodiscard]] std::string place_options(const CommandLine& line);

// "oomwitness: MESSAGE" on stderr; returns kFailed.
int report(const Error& error);

}  // namespace oomw::cli
