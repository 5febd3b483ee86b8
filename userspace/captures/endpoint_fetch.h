// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "captures/endpoint_finder.h"
#include "captures/http_fetch.h"
#include "memory/target_process.h"

namespace oomw {

// One GET of a listener from inside the namespace of the process that holds it. The process is alive
// and still holds it once connected, before anything is sent; otherwise kVetoed. tail_bytes: see FetchRequest.
// Any thread.
[[nodiscard]] FetchResult fetch_endpoint(const TargetProcess& process, const PprofEndpoint& endpoint,
                                         const std::string& path, Nanoseconds timeout, std::uint64_t max_body_bytes,
                                         std::uint64_t tail_bytes = 0);

}  // namespace oomw
