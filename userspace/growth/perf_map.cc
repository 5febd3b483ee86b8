// SPDX-License-Identifier: Apache-2.0
#include "growth/perf_map.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace oomw::growth {
namespace {

constexpr std::size_t kPieceBytes = 64u << 10, kMaxPerfMapName = 200;

void take_line(std::string_view line, const std::vector<std::uint64_t>& instructions,
               std::map<std::uint64_t, std::string>& names) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return;
  const auto begin = parse_u64(line.substr(0, first), 16);
  const auto size = parse_u64(line.substr(first + 1, second - first - 1), 16);
  if (!begin || !size) return;
  // No more than all instructions that were asked for.
  for (auto it = std::ranges::lower_bound(instructions, *begin); it != instructions.end(); ++it) {
    if (*it - *begin >= *size) return;
    names[*it] = line.substr(second + 1, kMaxPerfMapName);
  }
}

}  // namespace

std::map<std::uint64_t, std::string> names_in_perf_map(const ByteSource& file,
                                                       std::vector<std::uint64_t> instructions) {
  std::map<std::uint64_t, std::string> names;
  std::ranges::sort(instructions);
  std::string rest;
  std::vector<std::byte> chunk(kPieceBytes);
  for (std::size_t offset = 0; offset < kMaxPerfMapBytes;) {
    const auto read = file.read_some(offset, chunk);
    if (!read || *read == 0) break;
    offset += *read;
    rest.append(reinterpret_cast<const char*>(chunk.data()), *read);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1) {
      take_line(std::string_view(rest).substr(begin, end - begin), instructions, names);
    }
    rest.erase(0, begin);
    if (rest.size() > kMaxPerfMapLine) rest.clear();
  }
  return names;
}

}  // namespace oomw::growth
