// SPDX-License-Identifier: Apache-2.0
#include "report/markdown_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/text_width.h"

namespace oomw {
namespace {

constexpr std::size_t kLeastCell = 6;
constexpr std::size_t kMaxLine = 1u << 16;
constexpr char kJoin = '\x1f';  // a space at which no line is broken
constexpr std::string_view kBold = "\x1b[1m", kFaint = "\x1b[2m", kPlain = "\x1b[0m";

// Breaks text between words, and within words that are too long.
std::vector<std::string> lines_of(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  for (std::string_view word : split(text, ' ')) {
    const bool fits = width_of(lines.back()) + 1 + width_of(word) <= columns;
    if (!lines.back().empty() && fits) lines.back() += ' ';
    if (!lines.back().empty() && !fits) lines.emplace_back();
    while (width_of(word) > columns) {
      const std::string_view front = front_of(word, columns);
      lines.back() += front;
      lines.emplace_back();
      word.remove_prefix(front.size());
    }
    lines.back() += word;
  }
  return lines;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string_view word : split(text, ' ')) longest = std::max(longest, width_of(word));
  return longest;
}

bool is_escape(std::string_view text, std::size_t at) {
  return text[at] == '\\' && at + 1 < text.size() && std::string_view("|`*_<>[]\\&~").find(text[at + 1]) != text.npos;
}

// Where the text of a link that begins at `at` ends, such as file_link() writes: "[a](a)". npos = no link begins there.
std::size_t link_text_end(std::string_view text, std::size_t at) {
  constexpr std::size_t kMaxText = 256;
  for (std::size_t i = at + 1; i < std::min(text.size(), at + kMaxText); ++i) {
    if (is_escape(text, i)) {
      ++i;
    } else if (text[i] == ']') {
      return text.substr(i, 2) == "](" && text.find(')', i) != text.npos ? i : text.npos;
    }
  }
  return text.npos;
}

// One line without its escapes and marks; "**bold**" becomes bold if there are colours, and a link its text.
std::string plain(std::string_view text, bool has_color) {
  std::string out;
  bool is_bold = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_escape(text, i)) {
      out += text[++i];
    } else if (text.substr(i, 2) == "**") {
      is_bold = !is_bold;
      if (has_color) out += is_bold ? kBold : kPlain;
      ++i;
    } else if (const std::size_t end = text[i] == '[' ? link_text_end(text, i) : text.npos; end != text.npos) {
      out += plain(text.substr(i + 1, end - i - 1), has_color);
      i = text.find(')', end);
    } else if (text[i] != '`') {
      out += text[i];
    }
  }
  if (is_bold && has_color) out += kPlain;
  return out;
}

// "80.2 MiB" and "0.5 s" stay on one line. printable() lets no kJoin through.
std::string join_units(std::string text) {
  constexpr std::array<std::string_view, 8> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "s", "%"};
  for (std::size_t i = text.find(' ', 1); i < text.size(); i = text.find(' ', i + 1)) {
    const std::size_t end = std::min(text.find_first_of(" ,;)", i + 1), text.size());
    const bool is_unit = std::ranges::find(kUnits, std::string_view(text).substr(i + 1, end - i - 1)) != kUnits.end();
    if (is_unit && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0) text[i] = kJoin;
  }
  return text;
}

// An incident's time stamp to the millisecond and without its day, which the first sentence gives.
std::string brief_time(std::string text) {
  const bool is_time = text.size() == 30 && text[4] == '-' && text[10] == 'T' && text[19] == '.' && text[29] == 'Z';
  return is_time ? text.substr(11, 12) : text;
}

std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  std::size_t begin = 1;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (is_escape(row, i)) {
      ++i;
    } else if (row[i] == '|') {
      cells.push_back(join_units(brief_time(plain(trim(row.substr(begin, i - begin)), false))));
      begin = i + 1;
    }
  }
  return cells;
}

bool is_rule(std::string_view row) { return row.find_first_not_of("|-: ") == std::string_view::npos; }

// The lines of one table, from its heading on.
class Table {
 public:
  explicit Table(const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      if (is_rule(line)) {
        for (const std::string& cell : cells_of(line)) is_right_.push_back(cell.ends_with(':'));
      } else {
        rows_.push_back(cells_of(line));
      }
    }
  }

  std::string text(const TerminalView& view) const {
    std::size_t between = kColumnGap;
    const std::vector<std::size_t> widths = widths_within(view.columns, between);
    if (widths.empty()) return records(view.columns);
    std::string out;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::string row = row_text(rows_[i], widths, between);
      out += i == 0 && view.has_color ? std::string(kFaint) + row + std::string(kPlain) : row;
    }
    return out;
  }

 private:
  struct Column {
    std::size_t width = 0, longest_word = 0;
    [[nodiscard]] bool can_break() const { return width > std::max(longest_word, kLeastCell); }
  };

  // For a table that is too wide: the first cell of each row, and below it the others with their headings.
  [[nodiscard]] std::string records(std::size_t columns) const {
    constexpr std::size_t kIndent = 2;
    std::string out;
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      std::string others;
      for (std::size_t k = 1; k < rows_[i].size(); ++k) {
        if (rows_[i][k].empty() || k >= rows_[0].size()) continue;
        others += (others.empty() ? "" : ", ") + rows_[0][k] + ": " + rows_[i][k];
      }
      for (const std::string& line : lines_of(rows_[i].empty() ? "" : rows_[i][0], columns)) out += line + "\n";
      for (const std::string& line : lines_of(others, columns - std::min(columns, kIndent)))
        out += std::string(kIndent, ' ') + line + "\n";
    }
    std::ranges::replace(out, kJoin, ' ');
    return out;
  }

  // The widths that the widest cells need; if the table is too wide, the widest column is narrowed of those that can be
  // broken between words, then the gaps. Empty: even so it is too wide.
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t limit, std::size_t& between) const {
    std::vector<Column> columns;
    for (const auto& row : rows_) {
      columns.resize(std::max(columns.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) {
        columns[i].width = std::max({columns[i].width, width_of(row[i]), std::size_t{1}});
        columns[i].longest_word = std::max(columns[i].longest_word, longest_word(row[i]));
      }
    }
    const std::size_t gaps = columns.empty() ? 0 : columns.size() - 1;
    std::size_t all = gaps * between;
    for (const Column& column : columns) all += column.width;
    for (; all > limit; --all) {
      const auto widest = std::ranges::max_element(
          columns, {}, [](const Column& column) { return std::pair(column.can_break(), column.width); });
      if (widest->can_break()) {
        --widest->width;
      } else if (std::exchange(between, 1) > 1) {
        all -= gaps * (kColumnGap - 1) - 1;
      } else {
        return {};
      }
    }
    std::vector<std::size_t> widths;
    for (const Column& column : columns) widths.push_back(column.width);
    return widths;
  }

  [[nodiscard]] std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
                                     std::size_t between) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(lines_of(row[i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    std::string out;
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = line < cells[i].size() ? cells[i][line] : "";
        const std::string room(widths[i] - std::min(widths[i], width_of(cell)), ' ');
        const bool is_right = i < is_right_.size() && is_right_[i];
        if (i > 0) text += std::string(between, ' ');
        text += is_right ? room + cell : cell + room;
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    }
    std::ranges::replace(out, kJoin, ' ');
    return out;
  }

  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> is_right_;
};

// Wraps words into lines of at most `columns`; lines after the first are indented.
std::string wrapped(std::string_view text, const TerminalView& view, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t width = width_of(plain(word, false));
    if (used > indent && used + 1 + width > view.columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
  }
  return plain(out, view.has_color) + "\n";
}

std::string heading(std::string_view text, const TerminalView& view) {
  const std::string title = plain(trim(text.substr(std::min(text.find_first_not_of('#'), text.size()))), false);
  if (view.has_color) return std::string(kBold) + title + std::string(kPlain) + "\n";
  return title + "\n" + std::string(std::min(width_of(title), view.columns), '-') + "\n";
}

// "![What it shows](file)" as "What it shows: file".
std::string picture(std::string_view line) {
  const std::size_t middle = line.find("](");
  if (middle == line.npos) return std::string(line) + "\n";
  return std::string(line.substr(2, middle - 2)) + ": " +
         std::string(line.substr(middle + 2, line.rfind(')') - middle - 2)) + "\n";
}

std::string line_text(std::string_view line, const TerminalView& view) {
  if (line.empty()) return "\n";
  if (line.starts_with("![")) return picture(line);
  if (line.starts_with('#')) return heading(line, view);
  if (line.starts_with("    ")) return std::string(line) + "\n";
  return wrapped(line, view, line.starts_with("- ") ? 2 : 0);
}

}  // namespace

std::string for_terminal(std::string_view markdown, const TerminalView& view) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(markdown, '\n')) lines.push_back(printable(line, kMaxLine));
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    std::vector<std::string_view> table;
    while (i < lines.size() && lines[i].starts_with('|')) table.push_back(lines[i++]);
    out += table.empty() ? line_text(lines[i++], view) : Table(table).text(view);
  }
  return out;
}

}  // namespace oomw
