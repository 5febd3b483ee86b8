// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "reader/reader.h"

namespace oomw::reader {

// Readers for one sort of jobs, so that one that takes all of its time does not hold up those of other containers. The
// next process starts only while those before it are busy. Thread-safe; what Reader says of threads holds here.
class ReaderGroup {
 public:
  using Answer = tl::expected<std::string, Failure>;

  ReaderGroup(const Clock& clock, const ReaderConfig& config, std::size_t count);

  // As Reader::run(), by the one with the fewest jobs.
  [[nodiscard]] Answer run(std::uint32_t kind, const std::string& parameters, std::span<const int> files,
                           Nanoseconds time_limit, MonotonicTime deadline, std::span<const std::string> owners = {},
                           Nanoseconds* cpu = nullptr);
  void warm_up() { readers_.front()->warm_up(); }  // the one that is taken first
  void tick();
  [[nodiscard]] std::vector<ReaderCounters> counters() const;

 private:
  [[nodiscard]] std::size_t enter();

  std::vector<std::unique_ptr<Reader>> readers_;  // does not change
  std::mutex mutex_;                              // of users_
  std::vector<std::size_t> users_;                // jobs that run or wait
};

}  // namespace oomw::reader
