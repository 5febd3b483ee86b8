// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oomw {

// Profiles taken on the way up to the limit, on disk at once (<data-dir>/spool), so that a kill finds its evidence
// already written even if it takes the daemon too. An incident hard-links them.
//   - Bounded by files and bytes; those that an incident has go first, then the oldest (counted).
//   - Profiles of an earlier run stay, under the same bounds, and no name is used twice.
//   - If the disk refuses (full, read-only), the newest profiles stay in memory, within memory_bytes, with one warning;
//     the next put() tries the disk again and moves them there.
// Thread-safe.
class Spool {
 public:
  struct Limits {
    std::size_t files = 512;
    std::uint64_t bytes = 256u << 20;
    std::uint64_t memory_bytes = 4u << 20;
  };
  // kInMemory: another process owns the directory, and nothing there is touched until use_disk().
  enum class Start { kOnDisk, kInMemory };
  Spool(std::string directory, Limits limits, Start start = Start::kOnDisk);
  void use_disk();

  // Stores a profile and returns its name ("17-http.pb.gz"). Never fails: memory is the fallback;
  // only a profile larger than memory_bytes while the disk refuses is lost (kNoSpace).
  [[nodiscard]] Result<std::string> put(std::uint64_t capture_id, std::string_view method, std::string profile);
  // Makes `name` appear as `target` (hard link, copy across file systems, or a write from memory). comments: appended
  // only to the profile in `target`, if the disk has room for a copy and the file is a profile. The caller fsyncs.
  [[nodiscard]] Result<> place(const std::string& name, const std::string& target,
                               const std::vector<std::string>& comments = {});
  [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t max_bytes);
  [[nodiscard]] bool is_disk_refused() const;
  // Profiles pruned or lost before use. Does not wait for the disk: the core thread asks every second.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct OnDisk {
    std::string name;
    std::uint64_t bytes = 0;
    bool is_used = false;  // an incident has it: pruning it loses nothing
  };
  struct InMemory {
    std::string name;
    std::string profile;
  };
  void adopt_files();
  [[nodiscard]] std::string new_name(std::uint64_t capture_id, std::string_view method);
  void drain_memory();
  [[nodiscard]] Result<> link_or_copy(const std::string& name, const std::string& target);
  [[nodiscard]] Result<> comment(const std::string& name, const std::string& target,
                                 const std::vector<std::string>& comments);
  [[nodiscard]] Result<> store(const std::string& name, const std::string& profile);
  [[nodiscard]] Result<> keep_in_memory_locked(std::string name, std::string profile);
  [[nodiscard]] std::optional<std::string> in_memory_profile(const std::string& name) const;
  void note_disk(const Result<>& outcome);
  void prune_locked();
  [[nodiscard]] std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  const std::string directory_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::deque<OnDisk> on_disk_;      // oldest first
  std::deque<InMemory> in_memory_;  // oldest first
  std::uint64_t disk_bytes_ = 0;
  bool disk_refused_ = false;
  bool is_in_memory_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;  // read without mutex_, which is held while files are removed
};

}  // namespace oomw
