// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/event.h"

namespace oomw {

// The pods that the model knows and their state, so that only changes go to the core thread: most
// changes of a pod's object (probes, conditions) affect nothing that we keep.
//   - a list ends with end_list(), which returns the pods that are no longer in it; a list that broke off
//     removes none;
//   - at most max pods; the others are turned away and counted, each time they appear.
class HeldPods {
 public:
  explicit HeldPods(std::size_t max) : max_(max) {}

  void begin_list() { ++list_; }
  [[nodiscard]] std::vector<Event> end_list(MonotonicTime now);
  // The event to pass on, or nothing.
  [[nodiscard]] std::optional<Event> on_pod(PodSeen pod);
  [[nodiscard]] std::optional<Event> on_gone(const std::string& uid, MonotonicTime now);

  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_; }

 private:
  struct Held {
    std::size_t content = 0;  // a hash of the pod as it was passed on
    std::uint64_t list = 0;   // the newest list that has it
  };
  std::unordered_map<std::string, Held> pods_;  // by uid
  std::uint64_t list_ = 0;
  const std::size_t max_;
  std::uint64_t turned_away_ = 0;
};

}  // namespace oomw
