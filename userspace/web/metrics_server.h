// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "export/metrics_snapshot.h"

namespace oomw {

// GET /metrics (text/plain; version=0.0.4), /healthz (200 while the core loop ticks: 10 s), and
// /readyz (200 once events flow; before that 503 with the reason). Other paths get 404, other
// methods 405. Has its own threads. Serves nothing private, so it may listen on all addresses.
class MetricsServer {
 public:
  using Snapshot = std::function<std::shared_ptr<const MetricsSnapshot>()>;  // any thread

  // listen: "127.0.0.1:9435", ":9435", "[::1]:9435"; port 0 = any. kInvalid: bad address; kUnavailable: in use.
  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(const std::string& listen, Snapshot snapshot,
                                                                    const Clock& clock);
  ~MetricsServer();  // stops and joins
  [[nodiscard]] std::uint16_t port() const;

 private:
  MetricsServer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
