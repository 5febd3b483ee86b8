// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace oomw {

// The API's uids of static pods that had an incident: their cgroups bear another one, and kubectl finds the Events of a
// pod by the API's. For the Events that wait to be posted: the newest kMost incidents. Any thread.
class StaticPodUids {
 public:
  static constexpr std::size_t kMost = 512;

  void note(std::string incident_id, std::string uid) {
    const std::lock_guard lock(mutex_);
    if (uids_.size() == kMost) uids_.pop_front();
    uids_.emplace_back(std::move(incident_id), std::move(uid));
  }
  // "" = its cgroups bear the uid that the API knows, or it is not known.
  [[nodiscard]] std::string find(const std::string& incident_id) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, uid] : uids_) {
      if (id == incident_id) return uid;
    }
    return "";
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, std::string>> uids_;
};

}  // namespace oomw
