// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oomw {

// The text of /proc/PID/stat: "pid (comm) state ...". comm may contain brackets, spaces and newlines. The fields after
// it contain no brackets, so the last ')' ends comm.
class ProcStat {
 public:
  static constexpr std::size_t kMaxBytes = 4'096;

  // `text` is borrowed and outlives this.
  explicit ProcStat(std::string_view text) : text_(text) {}

  // By its number in proc(5), from 3 on; nullopt if it is absent or not a number.
  [[nodiscard]] std::optional<std::uint64_t> field(std::size_t number) const;
  [[nodiscard]] std::string_view comm() const;  // "" if there is none
  // In ticks since boot. The pid and this value together identify a process.
  [[nodiscard]] std::optional<std::uint64_t> start_ticks() const { return field(22); }
  // R: it runs or waits for a processor; S: it sleeps; ... '\0' where the text is not a stat.
  [[nodiscard]] char state() const;
  // A zombie, or dead (X); also true where the text is not a stat.
  [[nodiscard]] bool is_dead() const;
  [[nodiscard]] std::optional<std::uint64_t> flags() const { return field(9); }  // PF_*

 private:
  [[nodiscard]] std::string_view behind_comm() const;

  std::string_view text_;
};

// The text of /proc/PID/status: the process's number in its own pid namespace; nullopt if the kernel does not say it.
[[nodiscard]] std::optional<std::uint64_t> innermost_pid_of(std::string_view status);

}  // namespace oomw
