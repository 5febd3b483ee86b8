// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace oomw {

// Which executables are being inspected, and since when. A file system that never answers (FUSE, NFS that is gone)
// blocks the thread that opened a file on it. This keeps a container that restarts again and again from such a file
// from blocking a thread each time. Thread-safe.
class InspectionsUnderWay {
 public:
  // Opening and reading a binary of 200 MB that is not cached took 0.3 s.
  static constexpr Nanoseconds kPatience = std::chrono::seconds(2);

  class Inspection {
   public:
    Inspection(InspectionsUnderWay& inspections, std::uint64_t number) : inspections_(inspections), number_(number) {}
    ~Inspection() { inspections_.end(number_); }
    Inspection(const Inspection&) = delete;
    Inspection& operator=(const Inspection&) = delete;

   private:
    InspectionsUnderWay& inspections_;
    const std::uint64_t number_;
  };

  explicit InspectionsUnderWay(const Clock& clock) : clock_(clock) {}
  // file: a name that is known without asking its file system.
  [[nodiscard]] Inspection begin(const std::string& file);
  // Whether an inspection of it began more than kPatience ago and has not ended.
  [[nodiscard]] bool hangs(const std::string& file) const;

 private:
  struct Begun {
    std::string file;
    MonotonicTime at;
  };
  void end(std::uint64_t number);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Begun> begun_;  // at most one per thread
  std::uint64_t next_ = 1;
};

}  // namespace oomw
