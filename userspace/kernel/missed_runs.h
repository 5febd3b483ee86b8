// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/program_loader.h"

namespace oomw {

// The runs that the kernel skipped, over all programs. Reading one program's count takes 3 us, and reading all 16 each
// second was half of the idle daemon's CPU time, so each call reads kPerCall of them in turn. A missed run shows up to
// programs / kPerCall calls late.
class MissedRuns {
 public:
  static constexpr std::size_t kPerCall = 2;
  using Read = std::function<std::uint64_t(const LoadedProgram&)>;

  MissedRuns();  // reads from the kernel
  explicit MissedRuns(Read read) : read_(std::move(read)) {}

  [[nodiscard]] std::uint64_t total(const std::vector<LoadedProgram>& programs);

 private:
  Read read_;
  std::vector<std::uint64_t> known_;  // as last read, by program
  std::size_t next_ = 0;
};

}  // namespace oomw
