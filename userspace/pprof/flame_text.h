// SPDX-License-Identifier: Apache-2.0
// Text of a flame graph: made safe for XML, and cut to boxes by counting characters.
#pragma once

#include <string>
#include <string_view>

namespace oomw::pprof {

inline constexpr double kCharWidth = 7.3;  // DejaVu Sans Mono at 12 px has 7.22, others less

// Printable text, with XML's special characters and those it forbids (U+FFFE, U+FFFF) replaced.
[[nodiscard]] std::string to_xml(std::string_view bytes, std::size_t max_chars = 512);
// `text` in at most `columns` of a monospaced font, ".." where it was cut; "" below three. Beyond
// Latin a character counts as two. Valid UTF-8 only.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);
// Without the path of its package: "otlpreceiver.(*T).Start"; without its package: "(*T).Start".
[[nodiscard]] std::string_view short_name(std::string_view function);
[[nodiscard]] std::string_view bare_name(std::string_view function);

}  // namespace oomw::pprof
