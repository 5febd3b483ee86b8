// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "facts/operation_patterns.h"
#include "reader/reader.h"
#include "web/http_server.h"
#include "web/site/daemon_link.h"

namespace oomw {

struct SiteConfig {
  std::string data_dir;
  std::shared_ptr<DaemonLink> daemon;  // null: no daemon started this
  reader::ReaderConfig reader;
  OperationPatterns patterns{};
};

// The pages and the JSON API on `listener`, for readers on this machine: GET and HEAD, local Host names only, nothing
// that is not from this origin.
[[nodiscard]] Result<std::unique_ptr<HttpServer>> start_site(Listener listener, const SiteConfig& config);

// A loopback address, or kInvalid: incidents hold command lines, so they are served to this machine only.
[[nodiscard]] Result<Listener> open_site_listener(const std::string& listen);

}  // namespace oomw
