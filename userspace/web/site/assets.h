// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "web/http.h"

namespace oomw {

// A file of web/site/assets/, compiled in as gzip (assets.cmake).
struct Asset {
  std::string_view name;  // "app.js"
  std::string_view gzip;
};
[[nodiscard]] std::span<const Asset> assets();

// /assets/NAME, and the one page that all addresses for people lead to: /, /i/ID, /i/ID/flame, /compare, /now, /health.
// Without a daemon the page has no link to /now.
[[nodiscard]] std::vector<Route> asset_routes(bool has_daemon);

}  // namespace oomw
