// SPDX-License-Identifier: Apache-2.0
// Text that a workload controls (comm, cmdline, cgroup and container names, HTTP answers) is
// hostile until it has passed through one of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oomw {

// Valid UTF-8: each malformed byte becomes U+FFFD. For JSON and metric labels.
[[nodiscard]] std::string to_valid_utf8(std::string_view bytes);

// One line fit for a terminal or log: valid UTF-8, control characters (also C1, bidi overrides
// and line separators) as \xNN or \u{NNNN}, cut to max_chars with "..." .
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t max_chars = 256);

// The beginning of a text, with "..." behind, cut where no name is: after a sentence, else between two words, outside
// of backticks, parentheses and brackets. Within a word only where no such place is in the second half. At most
// max_bytes; UTF-8 stays whole.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t max_bytes);

// The longest beginning that is at most max_bytes long and ends between two characters.
[[nodiscard]] std::string_view front_bytes(std::string_view text, std::size_t max_bytes);

// A file name component: [A-Za-z0-9._-], everything else '_', never empty, never starting with
// '.' or '-', at most max_bytes.
[[nodiscard]] std::string to_file_component(std::string_view bytes, std::size_t max_bytes = 64);

// Text safe inside Markdown running text and tables (escapes | ` * _ < > [ ] \ and newlines).
[[nodiscard]] std::string to_markdown(std::string_view bytes, std::size_t max_chars = 256);

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);  // ASCII white space on both ends
[[nodiscard]] bool is_lower_hex(std::string_view text);      // [0-9a-f] only; true for ""
[[nodiscard]] std::string to_hex(std::string_view bytes);    // lower case
[[nodiscard]] std::optional<std::uint64_t> parse_u64(std::string_view text, int base = 10);  // whole text

// IEC units, three significant digits: "256 MiB", "1.50 GiB", "812 B".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

// Differences and slopes, written like the sizes of human_bytes(): "-1.50 GiB", "0 B". Infinite values are
// "inf" or "-inf", NaN is "unknown": an interval from few readings has such ends.
[[nodiscard]] std::string human_signed_bytes(double bytes);

[[nodiscard]] std::size_t bytes_of_character(char first);  // of UTF-8

// Of paths of files and cgroups, as text.
[[nodiscard]] std::string_view base_name(std::string_view path);  // a view of it: what is behind the last '/'
[[nodiscard]] std::string parent_path(std::string_view path);     // what is before; "/" where nothing is
[[nodiscard]] bool is_at_or_below(std::string_view path, std::string_view ancestor);

}  // namespace oomw
