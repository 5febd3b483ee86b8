// SPDX-License-Identifier: Apache-2.0
#include "base/proc_stat.h"

#include "base/text.h"

namespace oomw {

// Begins with field 3, the state.
std::string_view ProcStat::behind_comm() const {
  const std::size_t bracket = text_.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 > text_.size()) return {};
  return trim(text_.substr(bracket + 2));
}

std::optional<std::uint64_t> ProcStat::field(std::size_t number) const {
  const auto fields = split(behind_comm(), ' ');
  return number >= 3 && number - 3 < fields.size() ? parse_u64(fields[number - 3]) : std::nullopt;
}

std::string_view ProcStat::comm() const {
  const std::size_t open = text_.find('(');
  const std::size_t close = text_.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close <= open) return {};
  return text_.substr(open + 1, close - open - 1);
}

char ProcStat::state() const {
  const std::string_view rest = behind_comm();
  return rest.empty() ? '\0' : rest.front();
}

bool ProcStat::is_dead() const { return std::string_view("\0ZXx", 4).find(state()) != std::string_view::npos; }

// The last number of "NSpid:\t1234\t7".
std::optional<std::uint64_t> innermost_pid_of(std::string_view status) {
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with("NSpid:")) return parse_u64(line.substr(line.rfind('\t') + 1));
  }
  return std::nullopt;
}

}  // namespace oomw
