// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "web/health_routes.h"

namespace oomw {

// The metrics port: /metrics, /healthz and /readyz (their routes say when they are well). Other paths get 404, other
// methods 405. Has a thread of its own. Serves nothing private, so it may listen on all addresses.
class MetricsServer {
 public:
  // listen: "127.0.0.1:9435", ":9435", "[::1]:9435"; port 0 = any. kInvalid: bad address; kUnavailable: in use.
  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(const std::string& listen, SnapshotSource snapshot,
                                                                    const Clock& clock, CoreWatch core = {});
  ~MetricsServer();  // stops and joins
  [[nodiscard]] std::uint16_t port() const;

 private:
  MetricsServer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
