// SPDX-License-Identifier: Apache-2.0
#include "cli/read/columns.h"

#include <algorithm>

#include "report/text_width.h"

namespace oomw::cli {
namespace {

constexpr std::size_t kEndTells = 4;  // characters by which a cell that keeps its end may be the narrower one

// As many characters from the back as fit.
std::string_view back_of(std::string_view text, std::size_t columns) {
  while (width_of(text) > columns) text.remove_prefix(front_of(text, 1).size());
  return text;
}

std::string fitted(const std::string& cell, std::size_t columns, bool keeps_end) {
  if (width_of(cell) <= columns) return cell;
  if (columns < 2) return std::string(front_of(cell, columns));
  // "main.put (put.go:31)" is named without its place.
  if (const std::size_t place = cell.find(" (");
      place != std::string::npos && width_of(cell.substr(0, place)) <= columns) {
    return cell.substr(0, place);
  }
  const std::size_t back = keeps_end ? columns / 2 : 0;
  return std::string(front_of(cell, columns - 1 - back)) + "…" + std::string(back_of(cell, back));
}

std::string row_text(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                     const std::vector<std::string>& row) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = fitted(i < row.size() ? row[i] : "", widths[i], columns[i].keeps_end);
    const std::string room(widths[i] - std::min(widths[i], width_of(cell)), ' ');
    if (i > 0) text += std::string(kColumnGap, ' ');
    text += columns[i].is_right ? room + cell : cell + room;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

void narrow(const std::vector<Column>& columns, std::vector<std::size_t>& widths, std::size_t most) {
  std::size_t all = (columns.size() - 1) * kColumnGap;
  for (const std::size_t width : widths) all += width;
  for (; all > most; --all) {
    std::size_t widest = columns.size(), its_width = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].least == 0 || widths[i] <= columns[i].least) continue;
      const std::size_t width = widths[i] + (columns[i].keeps_end ? kEndTells : 0);
      if (width > its_width) widest = i, its_width = width;
    }
    if (widest == columns.size()) return;
    --widths[widest];
  }
}

}  // namespace

std::string columns_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                         std::size_t most) {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    std::size_t width = width_of(column.title);
    for (const auto& row : rows)
      width = std::max(width, titles.size() <= row.size() ? width_of(row[titles.size() - 1]) : 0);
    widths.push_back(width);
  }
  if (most > 0 && !columns.empty()) narrow(columns, widths, most);
  std::string text = row_text(columns, widths, titles);
  for (const auto& row : rows) text += row_text(columns, widths, row);
  return text;
}

}  // namespace oomw::cli
