// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace oomw {

inline constexpr std::size_t kColumnGap = 2;  // between the columns of a table

// Columns that printable UTF-8 takes on a terminal, by wcwidth(): 2 for most East Asian characters and emoji, 0 for
// combining marks. Whatever the process's locale is.
[[nodiscard]] std::size_t width_of(std::string_view text);
// As many characters from the front as fit into `columns`; at least one, with the marks that combine with it.
[[nodiscard]] std::string_view front_of(std::string_view text, std::size_t columns);

}  // namespace oomw
