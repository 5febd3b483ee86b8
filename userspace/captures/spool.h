// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"

namespace oomw {

// Profiles taken on the way up, on disk at once (<data-dir>/spool), so that a kill finds its
// evidence already written even if it takes the daemon too. An incident hard-links them.
//   - bounded by files and bytes; the oldest go first (counted);
//   - a disk that refuses (full, read-only) keeps the newest profiles in memory, within
//     memory_bytes, and says so once; the next put() tries the disk again and moves them there.
// Thread-safe.
class Spool {
 public:
  struct Limits {
    std::size_t files = 512;
    std::uint64_t bytes = 256u << 20;
    std::uint64_t memory_bytes = 4u << 20;
  };
  Spool(std::string directory, Limits limits);

  // Stores a profile and returns its name ("17-http.pb.gz"). Never fails: memory is the fallback;
  // only a profile larger than memory_bytes while the disk refuses is lost (kNoSpace).
  [[nodiscard]] Result<std::string> put(std::uint64_t capture_id, std::string_view method, std::string profile);
  // Makes `name` appear as `target` (hard link, copy across file systems, or a write from memory).
  [[nodiscard]] Result<> place(const std::string& name, const std::string& target);
  [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t max_bytes);
  [[nodiscard]] bool is_disk_refused() const;
  [[nodiscard]] std::uint64_t dropped() const;  // profiles pruned or lost before use

 private:
  void prune_locked();
  const std::string directory_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, std::uint64_t>> on_disk_;  // name, bytes; oldest first
  std::map<std::string, std::string> in_memory_;
  std::uint64_t disk_bytes_ = 0;
  bool disk_refused_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace oomw
