// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw::cli {

// The argument of -o: a file, or "-" for stdout.
[[nodiscard]] bool is_stdout(const std::string& path);

// A regular or new file is either written completely or left as it was. Anything else that is writable
// (/dev/stdout, a device, a FIFO) is written to and never replaced.
[[nodiscard]] Result<> write_output(const std::string& path, std::string_view bytes);

// The same for what is too long to be held in memory: `produce` is given where its pieces go.
using PieceSink = std::function<Result<>(std::string_view piece)>;
[[nodiscard]] Result<> write_output_in_pieces(const std::string& path,
                                              const std::function<Result<>(const PieceSink&)>& produce);

// The stream for messages about the output: never mixed into bytes that went to stdout.
[[nodiscard]] std::FILE* message_stream(const std::string& path);

}  // namespace oomw::cli
