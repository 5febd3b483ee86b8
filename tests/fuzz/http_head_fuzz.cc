// SPDX-License-Identifier: Apache-2.0
// The head of a request: anybody who reaches the metrics port chooses it.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "web/http.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view head(reinterpret_cast<const char*>(data), size);
  const auto request = oomw::parse_request_head(head);
  if (!request) return 0;
  OOMW_CHECK(!request->method.empty() && request->path.starts_with('/'));
  OOMW_CHECK(request->path.find_first_of(" ?") == std::string_view::npos);
  OOMW_CHECK(request->path.find("\r\n") == std::string_view::npos);
  for (const char* pattern : {"/i/*", "/i/*.tar.gz", "/i/*/files/*"}) {
    if (oomw::fits(pattern, request->path)) OOMW_CHECK(!oomw::parts_of(pattern, request->path).empty());
  }
  OOMW_CHECK(oomw::query_value(request->query, "q").size() <= request->query.size());
  // What passes as a local name is "localhost" or a number: no letters beyond those of IPv6 and of that name.
  if (oomw::is_local_host(request->host)) {
    OOMW_CHECK(request->host.find_first_not_of("0123456789abcdefABCDEFlocahstLOCAHST:.[]") == std::string_view::npos);
  }
  return 0;
}
