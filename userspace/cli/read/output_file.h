// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw::cli {

// What -o takes: a file, or "-" for stdout.
[[nodiscard]] bool is_stdout(const std::string& path);

// A regular file, or one that is not there yet, is whole or as it was before. Anything else that can be
// written to (/dev/stdout, a device, a FIFO) is written to, and never replaced.
[[nodiscard]] Result<> write_output(const std::string& path, std::string_view bytes);

// Where to say what was written: not among the bytes that went to stdout.
[[nodiscard]] std::FILE* message_stream(const std::string& path);

}  // namespace oomw::cli
