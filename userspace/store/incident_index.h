// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "store/directory_watch.h"

namespace oomw {

// What lies below <data-dir>/incidents, so that neither a write nor retention walks over all of it.
//   - built by a walk at the first refresh(), and again when it cannot be trusted any more: the kernel
//     dropped notices, the directory was replaced by another, or forget() was called;
//   - between walks the kernel tells what others add, move or delete (DirectoryWatch), and refresh()
//     looks at those names alone. Where inotify is refused every refresh() walks, as is right;
//   - what is named like ours but has no incident.json (somebody may be copying it) is no incident
//     yet, and is looked at again by recount();
//   - bounded: a directory of more than kMaxEntries is an error, as it is for readers.
// The one writer's thread only.
class IncidentIndex {
 public:
  static constexpr std::size_t kMaxEntries = 100'000;

  struct Stored {
    std::string name;
    WallTime time;  // to the second, of those that were not written by this process
    std::uint64_t bytes = 0;
  };

  explicit IncidentIndex(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] Result<> refresh();
  void forget() { is_built_ = false; }
  // What this process just wrote or amended.
  void note(const std::string& name, WallTime time);
  // Whether those without an incident.json have one by now.
  void recount();
  // No longer there, or no longer to be there: whatever it is, it is not counted any more.
  void erase(const std::string& name);

  // The name of the directory with this incident; "" = none. O(log n + incidents of that second).
  [[nodiscard]] std::string find(const std::string& id) const;
  [[nodiscard]] std::optional<Stored> oldest() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::set<std::string> temporaries() const { return temporaries_; }
  [[nodiscard]] std::uint64_t walks() const { return walks_; }

  // Size of an incident's directory; nullopt if it is not one: no directory, or no incident.json in it.
  [[nodiscard]] std::optional<std::uint64_t> measure(const std::string& name) const;

 private:
  using Key = std::pair<WallTime, std::string>;  // when, name
  using Entries = std::map<Key, std::uint64_t>;

  [[nodiscard]] Result<> walk();
  [[nodiscard]] bool is_same_directory() const;
  void look_at(const std::string& name);
  void put(const std::string& name, std::optional<WallTime> time);
  [[nodiscard]] Entries::const_iterator find_name(const std::string& name) const;
  void remove(Entries::const_iterator entry);

  const std::string root_;
  bool is_built_ = false;
  std::optional<DirectoryWatch> watch_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  Entries entries_;                // the oldest first
  std::set<std::string> unready_;  // named like ours
  std::set<std::string> temporaries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t walks_ = 0;
};

}  // namespace oomw
