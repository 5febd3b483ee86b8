// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/program_loader.h"

namespace oomw {

// The runs that the kernel left out, over all programs. Asking for one program's takes 3 us, and
// asking all 16 each second was half of what the daemon did when nothing happened; so each call
// asks kPerCall of them, in turn. What is missed shows up to programs / kPerCall calls late.
class MissedRuns {
 public:
  static constexpr std::size_t kPerCall = 2;
  using Read = std::function<std::uint64_t(const LoadedProgram&)>;

  MissedRuns();  // from the kernel
  explicit MissedRuns(Read read) : read_(std::move(read)) {}

  [[nodiscard]] std::uint64_t total(const std::vector<LoadedProgram>& programs);

 private:
  Read read_;
  std::vector<std::uint64_t> known_;  // as last read, by program
  std::size_t next_ = 0;
};

}  // namespace oomw
