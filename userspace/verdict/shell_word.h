// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw {

// Text as one word of a POSIX shell command that a human may paste: unchanged if no shell treats any of it
// specially, else in single quotes. Bytes that are unsafe to paste become '?': control and non-ASCII bytes, and
// < and >, which a Markdown viewer may take for markup. No name in Kubernetes or on a command line has them
// anyway. The word is never empty and never an option: "-x" becomes "./-x".
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace oomw
