// SPDX-License-Identifier: Apache-2.0
// The bounds of every HTTP request that we send. For .cc files of folders that link libcurl.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include <curl/curl.h>

#include "base/clock.h"

namespace oomw {

struct CleanupCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CleanupCurl>;

// Requests end after `timeout`. One protocol, no redirect, no proxy even if the environment sets one, no HTTP/0.9, no
// signal (SIGALRM has no place in a threaded daemon). Null: curl does not start.
[[nodiscard]] inline CurlHandle make_bounded_curl(const char* protocol, Nanoseconds timeout) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_NOTHING); });
  CurlHandle handle(curl_easy_init());
  if (!handle) return handle;
  const auto ms = static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, std::max(ms, 1L));
  curl_easy_setopt(handle.get(), CURLOPT_PROTOCOLS_STR, protocol);
  curl_easy_setopt(handle.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(handle.get(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle.get(), CURLOPT_HTTP09_ALLOWED, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_USERAGENT, "oomwitness");
  return handle;
}

}  // namespace oomw
