// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/incident_summary.h"

namespace oomw {

// The incidents of a data directory as summaries. Each is read once, and again when its incident.json was replaced:
// from summary.json (10,000 take 0.2 s), or from incident.json where there is none that can be used (2 s). refresh()
// reads for kBudget, newest first, and the next call goes on. However slow the machine, one call reads kLeastReads:
// what a few incidents answer must not depend on time. One thread. About 1 KiB an incident; the newest kMaxIncidents.
class IncidentList {
 public:
  static constexpr Nanoseconds kBudget = std::chrono::milliseconds(100);
  static constexpr std::size_t kLeastReads = 32;
  static constexpr std::size_t kMaxIncidents = 10'000;

  // data_dir: one with incidents/ below it, or a directory of incidents, or a single incident: what people copy from a
  // node. The clock outlives the list.
  IncidentList(const std::string& data_dir, const Clock& clock);

  [[nodiscard]] Result<> refresh();
  [[nodiscard]] std::vector<const IncidentSummary*> newest_first() const;  // valid until the next refresh()
  [[nodiscard]] std::size_t unread() const { return unread_; }             // not in the list yet
  // The directory of the incident with this id, whether or not it was read.
  [[nodiscard]] Result<std::string> directory_of(std::string_view id) const;
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  struct Entry {
    std::int64_t changed_ns = 0;
    std::optional<IncidentSummary> summary;  // none: it could not be read
  };

  [[nodiscard]] Result<std::vector<std::string>> names() const;  // newest first

  [[nodiscard]] std::optional<IncidentSummary> read(int root, const std::string& name) const;

  const Clock& clock_;
  std::string root_;
  bool is_single_ = false;                                // root_ is one incident
  std::map<std::string, Entry, std::greater<>> entries_;  // by directory name, newest first
  std::size_t unread_ = 0;
};

}  // namespace oomw
