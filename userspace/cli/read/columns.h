// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace oomw::cli {

struct Column {
  std::string title;
  bool is_right = false;
  std::size_t least = 0;   // columns to which it may be narrowed; 0 = never
  bool keeps_end = false;  // a cell that is cut loses its middle: pods of one workload differ at the end
};

// A line for the titles and one for each row, whose cells are printable. Columns take what their widest cell needs; if
// the table would be wider than `most` (0 = any width), the widest of those that may be narrowed are, and a cell that
// is cut has "…" at its end, or in its middle.
[[nodiscard]] std::string columns_text(const std::vector<Column>& columns,
                                       const std::vector<std::vector<std::string>>& rows, std::size_t most);

}  // namespace oomw::cli
