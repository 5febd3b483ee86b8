// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "captures/endpoint_finder.h"
#include "events/ids.h"

namespace oomw {

// Endpoints by process, so that a capture near the limit is one request. Thread-safe.
//   - At most kMaxEntries; the one resolved longest ago makes room.
//   - "Has none" is trusted for kNoneLifetime only: a server may open its port later.
//   - Endpoints found for another annotated port do not count: the pod's annotation has changed.
class EndpointCache {
 public:
  static constexpr std::size_t kMaxEntries = 4096;
  static constexpr Nanoseconds kNoneLifetime = std::chrono::seconds(2);

  using Port = std::optional<std::uint16_t>;
  [[nodiscard]] std::optional<std::vector<PprofEndpoint>> find(ProcessKey process, MonotonicTime now,
                                                               Port annotated = {}) const;
  void put(ProcessKey process, std::vector<PprofEndpoint> endpoints, MonotonicTime now, Port annotated = {});
  void forget(ProcessKey process);
  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry {
    std::vector<PprofEndpoint> endpoints;
    MonotonicTime resolved;
    Port annotated;
  };
  void make_room_locked();
  mutable std::mutex mutex_;
  std::unordered_map<ProcessKey, Entry> entries_;
};

}  // namespace oomw
