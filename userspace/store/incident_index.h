// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/fair_retention.h"
#include "store/retention_file.h"

namespace oomw {

// The names, sizes and facts of what lies below <data-dir>/incidents, so that neither a write nor retention opens all
// of it.
//   - refresh() lists the names (0.1 ms for 200, 9 ms for 10,000) and measures those that are new to it;
//   - a directory named like ours but without incident.json (it may be being copied) is not an incident yet; the
//     next refresh() measures it again;
//   - facts are those noted with a write or restored from an earlier run, while incident.json is the file they were
//     taken from; for the others the caller reads it, see without_facts();
//   - bounded: a directory of more than kMaxEntries is an error, as it is for readers.
// Not thread-safe: the store calls it under its lock.
class IncidentIndex {
 public:
  static constexpr std::size_t kMaxEntries = 100'000;

  explicit IncidentIndex(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] Result<> refresh();
  // The next refresh() measures everything again.
  void forget();
  // Records an incident that this process just wrote or amended.
  void note(const std::string& name, const IncidentFacts& facts);
  // Facts that an earlier run knew. The next refresh() takes those of incidents that it finds.
  void restore(std::map<std::string, KnownFacts> known);
  // Incidents whose facts nobody knows, oldest first, at most `max`; set_facts() answers.
  [[nodiscard]] std::vector<std::string> without_facts(std::size_t max) const;
  void set_facts(const std::string& name, const IncidentFacts& facts);
  // Stops counting an entry that is gone or about to be removed.
  void erase(const std::string& name);

  // The name of the directory with this incident; "" = none.
  [[nodiscard]] std::string find(const std::string& id) const;
  // Every incident, oldest first; one without facts has none of a workload.
  [[nodiscard]] std::vector<KeptIncident> incidents() const;
  // Time of the newest incident that was there before this process wrote any; nullopt: there was none.
  [[nodiscard]] std::optional<WallTime> newest_found() const;
  // What the next run needs for restore().
  [[nodiscard]] std::map<std::string, KnownFacts> known_facts() const;
  [[nodiscard]] std::uint64_t facts_version() const { return facts_version_; }  // changes when they do
  [[nodiscard]] std::size_t size() const { return incidents_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::set<std::string>& temporaries() const { return temporaries_; }
  [[nodiscard]] std::uint64_t measured() const { return measured_; }  // directories, for tests

  struct Measured {
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;  // mtime of incident.json
  };
  // Of an incident's directory; nullopt if it is none: not a directory, or without incident.json.
  [[nodiscard]] std::optional<Measured> measure(const std::string& name) const;

 private:
  struct Entry {
    WallTime second;                   // in the name
    std::optional<Measured> measured;  // none: no incident, or forgotten
    std::optional<KnownFacts> known;   // may be of an incident.json that was replaced meanwhile
    bool is_own = false;               // written by this process
    [[nodiscard]] bool has_facts() const;
    [[nodiscard]] WallTime time() const;  // to the second where no facts are known
  };

  void put(const std::string& name, WallTime second);
  void remove_size(const Entry& entry);

  const std::string root_;
  std::map<std::string, Entry> entries_;        // names begin with the time, so the oldest come first
  std::map<std::string, KnownFacts> restored_;  // taken over as the names are found
  std::set<std::string> temporaries_;
  std::uint64_t facts_version_ = 0;
  std::size_t incidents_ = 0;  // with a size
  std::uint64_t bytes_ = 0;
  mutable std::uint64_t measured_ = 0;
};

}  // namespace oomw
