// SPDX-License-Identifier: Apache-2.0
#include "captures/memstats_fetch.h"

#include <algorithm>
#include <string>

#include "base/patience.h"
#include "captures/endpoint_fetch.h"

namespace oomw {

bool may_ask_memstats(const CaptureRequest& request, std::uint64_t stacks) {
  if (!request.usage_bytes || !request.limit_bytes || *request.usage_bytes > *request.limit_bytes) return false;
  return stacks <= MemStatsLimits::kMostStacks &&
         *request.limit_bytes - *request.usage_bytes >= MemStatsLimits::kLeastHeadroom;
}

MemStats fetch_memstats(const TargetProcess& process, const PprofEndpoint& endpoint, const std::string& heap_path,
                        Nanoseconds timeout, std::uint64_t max_body_bytes) {
  if (timeout <= Nanoseconds::zero()) return {};
  const std::string path = heap_path + (heap_path.find('?') == std::string::npos ? "?" : "&") + "debug=1";
  const FetchResult answer =
      fetch_endpoint(process, endpoint, path, std::min(timeout, patient(MemStatsLimits::kPatience)), max_body_bytes,
                     MemStatsLimits::kTail);
  return answer.status == FetchStatus::kOk ? memstats_of(answer.body) : MemStats{};
}

}  // namespace oomw
