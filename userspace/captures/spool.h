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

#include "base/fair_share.h"
#include "base/result.h"
#include "captures/profile_file.h"

namespace oomw {

// Profiles taken on the way up to the limit, on disk at once (<data-dir>/spool), so that a kill finds its evidence
// already written even if it takes the daemon too. An incident hard-links them.
//   - Bounded by files and bytes; those that an incident has go first. Then the container (and before that the
//     namespace) that has the most loses: first what lies between its first profile and its newest, see
//     base/fair_share.h. No container that keeps to its share loses a profile to others. All of it is counted.
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

  struct Profile {
    std::string bytes{};
    std::optional<ProfileFile> file{};  // instead of bytes
    std::uint64_t string_count = 0;     // 0: not known, and place() adds no comments
    [[nodiscard]] std::uint64_t size() const { return file ? file->size() : bytes.size(); }
  };
  // Stores a profile and returns its name ("17-http.pb.gz"). Memory is the fallback; only a profile that is larger than
  // memory_bytes, or than its owner's share of them, is lost while the disk refuses (kNoSpace).
  [[nodiscard]] Result<std::string> put(std::uint64_t capture_id, std::string_view method, Profile profile,
                                        const ShareOwner& owner = {});
  [[nodiscard]] Result<std::string> put(std::uint64_t capture_id, std::string_view method, std::string profile,
                                        const ShareOwner& owner = {}) {
    return put(capture_id, method, Profile{std::move(profile)}, owner);
  }
  // Makes `name` appear as `target`, in the place of what is there (hard link, copy across file systems, or a write
  // from memory). comments: appended only to the profile in `target`, if the disk has room for a copy. The profile is
  // never in this process's memory. The caller fsyncs.
  [[nodiscard]] Result<> place(const std::string& name, const std::string& target,
                               const std::vector<std::string>& comments = {});
  [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t max_bytes);
  [[nodiscard]] bool is_disk_refused() const;
  // Profiles pruned or lost before use. Does not wait for the disk: the core thread asks every second.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] ShareExcess over_share() const;  // of those, the ones that a container over its share lost

 private:
  struct OnDisk {
    std::string name;
    std::uint64_t bytes = 0;
    bool is_used = false;  // an incident has it: pruning it loses nothing
    ShareOwner owner;
    std::uint64_t string_count = 0;
  };
  struct InMemory {
    std::string name;
    std::string profile;
    ShareOwner owner;
    std::uint64_t string_count = 0;
  };
  void adopt_files();
  [[nodiscard]] std::string new_name(std::uint64_t capture_id, std::string_view method);
  void drain_memory();
  [[nodiscard]] Result<> link_or_copy(const std::string& name, const std::string& target);
  [[nodiscard]] Result<> comment(const std::string& name, const std::string& target,
                                 const std::vector<std::string>& comments);
  [[nodiscard]] Result<> store(const std::string& name, const Profile& profile, const ShareOwner& owner);
  [[nodiscard]] Result<> keep_in_memory_locked(const std::string& name, Profile profile, const ShareOwner& owner);
  [[nodiscard]] std::uint64_t string_count_of(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> in_memory_profile(const std::string& name) const;
  void note_disk(const Result<>& outcome);
  void prune_locked();
  void note_over_share(const ShareOwner& owner);
  [[nodiscard]] std::size_t to_prune_locked() const;
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
  mutable std::mutex excess_mutex_;         // held for moments, so that over_share() does not wait for the disk either
  ShareExcess over_share_;
};

}  // namespace oomw
