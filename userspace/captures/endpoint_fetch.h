// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "captures/endpoint_finder.h"
#include "captures/http_fetch.h"
#include "process/target_process.h"

namespace oomw {

// One GET to a listener, from inside the namespace of the process that holds it. Once connected, and before anything is
// sent, the process must be alive and still hold the listener; otherwise kVetoed. Any thread.
// tail_bytes, sink: see FetchRequest.
[[nodiscard]] FetchResult fetch_endpoint(const TargetProcess& process, const PprofEndpoint& endpoint,
                                         const std::string& path, Nanoseconds timeout, std::uint64_t max_body_bytes,
                                         std::uint64_t tail_bytes = 0, BodySink sink = {});

}  // namespace oomw
