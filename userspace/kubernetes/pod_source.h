// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "events/event.h"
#include "kubernetes/api_target.h"

namespace oomw {

struct PodSourceStats {
  std::string state = "listing";              // listing | watching | waiting (after a failure)
  std::optional<MonotonicTime> last_contact;  // last time that the server sent anything; none = never
  std::uint64_t lists = 0, watches = 0;       // begun
  std::map<std::string, std::uint64_t> errors;
  std::string last_error;
  std::size_t pods = 0;
  std::uint64_t pods_turned_away = 0;  // more than max_pods
  friend bool operator==(const PodSourceStats&, const PodSourceStats&) = default;
};

// The pods of this node, from one list and one watch of the Kubernetes API.
//   - an event source: PodSeen, PodGone and PodsCurrent go to `post`, from a thread of its own;
//   - nothing else ever waits for it: a server that is absent, slow or answers garbage delays only the
//     names it would have sent, and is tried again after 1 to 60 s;
//   - at most kMaxPodBytes are kept of a pod, and max_pods in all; answers are decoded as they arrive;
//   - while `post` returns false it waits and reads nothing from the server, so nothing is lost;
//   - when stats() changed, `changed` is called, at most once for each turn of its loop;
//   - the destructor takes at most as long as one decoding; it does not wait for a request.
class PodSource {
 public:
  using Post = std::function<bool(std::vector<Event> events)>;  // any thread; false = no room, try again

  using Changed = std::function<void()>;  // any thread

  // clock outlives this; post() and changed() are no longer called once the destructor has returned.
  PodSource(ApiTarget target, std::size_t max_pods, const Clock& clock, Post post, Changed changed);
  ~PodSource();
  PodSource(const PodSource&) = delete;
  PodSource& operator=(const PodSource&) = delete;

  // Any thread.
  [[nodiscard]] PodSourceStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// For doctor: one small request, at most `timeout`. Returns the answer in words, or why there was none.
[[nodiscard]] Result<std::string> check_api(const ApiTarget& target, Nanoseconds timeout, const Clock& clock);

}  // namespace oomw
