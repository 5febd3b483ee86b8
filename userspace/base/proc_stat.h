// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oomw {

// The text of /proc/PID/stat: "pid (comm) state ...". comm may hold brackets, spaces and newlines, what
// comes behind it holds none: the last ')' ends it.
class ProcStat {
 public:
  static constexpr std::size_t kMaxBytes = 4'096;

  // Borrowed: it outlives this.
  explicit ProcStat(std::string_view text) : text_(text) {}

  // By its number in proc(5), from 3 on; nullopt if it is not there or no number.
  [[nodiscard]] std::optional<std::uint64_t> field(std::size_t number) const;
  [[nodiscard]] std::string_view comm() const;  // "" if there is none
  // In ticks since boot. With the pid it is who a process is.
  [[nodiscard]] std::optional<std::uint64_t> start_ticks() const { return field(22); }
  // A zombie, or about to be one; also where the text is no stat.
  [[nodiscard]] bool is_dead() const;
  [[nodiscard]] std::optional<std::uint64_t> flags() const { return field(9); }  // PF_*

 private:
  [[nodiscard]] std::string_view behind_comm() const;

  std::string_view text_;
};

}  // namespace oomw
