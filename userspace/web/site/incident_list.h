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

// The incidents of a data directory as summaries: each incident.json is read once, and again when it was replaced.
// Reading 10,000 takes seconds, so refresh() reads for kBudget at most, newest first, and the next call goes on. One
// thread. About 1 KiB an incident; the newest kMaxIncidents.
class IncidentList {
 public:
  static constexpr Nanoseconds kBudget = std::chrono::milliseconds(150);
  static constexpr std::size_t kMaxIncidents = 10'000;

  // data_dir: one with incidents/ below it, or a directory of incidents, or a single incident: what people copy from a
  // node.
  explicit IncidentList(const std::string& data_dir);

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

  std::string root_;
  bool is_single_ = false;                                // root_ is one incident
  std::map<std::string, Entry, std::greater<>> entries_;  // by directory name, newest first
  std::size_t unread_ = 0;
};

}  // namespace oomw
