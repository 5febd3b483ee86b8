// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw {

// Text as one word of a POSIX shell command that a human may paste: as it is where no shell would read
// anything into it, else in single quotes. What could not be pasted safely, control and non-ASCII bytes, and < and >,
// which a reader of Markdown may take for markup, becomes
// '?': a name that has it does not exist by that name in Kubernetes or on the command line anyway. Never
// empty, and never taken for an option: "-x" becomes "./-x".
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace oomw
