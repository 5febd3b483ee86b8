// SPDX-License-Identifier: Apache-2.0
#include "captures/endpoint_cache.h"

#include <algorithm>

namespace oomw {

std::optional<std::vector<PprofEndpoint>> EndpointCache::find(ProcessKey process, MonotonicTime now,
                                                              Port annotated) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(process);
  if (found == entries_.end() || found->second.annotated != annotated) return std::nullopt;
  if (found->second.endpoints.empty() && now - found->second.resolved > kNoneLifetime) return std::nullopt;
  return found->second.endpoints;
}

void EndpointCache::put(ProcessKey process, std::vector<PprofEndpoint> endpoints, MonotonicTime now, Port annotated) {
  const std::lock_guard lock(mutex_);
  if (!entries_.contains(process)) make_room_locked();
  entries_[process] = {std::move(endpoints), now, annotated};
}

void EndpointCache::make_room_locked() {
  if (entries_.size() < kMaxEntries) return;
  entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                  [](const auto& a, const auto& b) { return a.second.resolved < b.second.resolved; }));
}

void EndpointCache::forget(ProcessKey process) {
  const std::lock_guard lock(mutex_);
  entries_.erase(process);
}

std::size_t EndpointCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace oomw
