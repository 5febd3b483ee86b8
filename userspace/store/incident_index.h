// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace oomw {

// The names and sizes of what lies below <data-dir>/incidents, so that neither a write nor retention opens all of it.
//   - refresh() lists the names (0.1 ms for 200, 9 ms for 10,000) and measures those that are new to it;
//   - a directory named like ours but without incident.json (it may be being copied) is not an incident yet; the
//     next refresh() measures it again;
//   - bounded: a directory of more than kMaxEntries is an error, as it is for readers.
// For the single writer's thread only.
class IncidentIndex {
 public:
  static constexpr std::size_t kMaxEntries = 100'000;

  struct Stored {
    std::string name;
    WallTime time;  // to the second for those that another process wrote
  };

  explicit IncidentIndex(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] Result<> refresh();
  // The next refresh() measures everything again.
  void forget();
  // Records an incident that this process just wrote or amended.
  void note(const std::string& name, WallTime time);
  // Stops counting an entry that is gone or about to be removed.
  void erase(const std::string& name);

  // The name of the directory with this incident; "" = none.
  [[nodiscard]] std::string find(const std::string& id) const;
  [[nodiscard]] std::optional<Stored> oldest() const;
  [[nodiscard]] std::size_t size() const { return incidents_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::set<std::string>& temporaries() const { return temporaries_; }
  [[nodiscard]] std::uint64_t measured() const { return measured_; }  // directories, for tests

  // Size of an incident's directory; nullopt if it is none: not a directory, or without incident.json.
  [[nodiscard]] std::optional<std::uint64_t> measure(const std::string& name) const;

 private:
  struct Entry {
    WallTime time;
    std::optional<std::uint64_t> bytes;  // none: no incident, or forgotten
  };

  void put(const std::string& name, WallTime time);

  const std::string root_;
  std::map<std::string, Entry> entries_;  // names begin with the time, so the oldest come first
  std::set<std::string> temporaries_;
  std::size_t incidents_ = 0;  // with a size
  std::uint64_t bytes_ = 0;
  mutable std::uint64_t measured_ = 0;
};

}  // namespace oomw
