// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace oomw {

// The uids of incidents' pods as the API knows them, which a static pod's cgroups do not bear: for the Events that wait
// to be posted. The newest kMost; any thread.
class PodUids {
 public:
  static constexpr std::size_t kMost = 512;

  void note(std::string incident_id, std::string uid) {
    const std::lock_guard lock(mutex_);
    if (uids_.size() == kMost) uids_.pop_front();
    uids_.emplace_back(std::move(incident_id), std::move(uid));
  }
  // "" = not known.
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
