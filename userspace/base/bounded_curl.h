// SPDX-License-Identifier: Apache-2.0
// The bounds of every HTTP request that we send. For .cc files of folders that link libcurl.
#pragma once

#include <algorithm>
#include <atomic>
#include <cctype>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "base/clock.h"

namespace oomw {

struct CleanupCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CleanupCurl>;

struct FreeCurlHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlHeaders = std::unique_ptr<curl_slist, FreeCurlHeaders>;

// line: "Name: value"; "Name:" leaves out a header that curl sends by itself. Without memory the header is left out.
inline void add_header(CurlHeaders& headers, const std::string& line) {
  curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
  if (longer == nullptr) return;
  (void)headers.release();
  headers.reset(longer);
}

// Whether a line of an answer's head is that header; name: in lower case.
[[nodiscard]] inline bool has_name(std::string_view header, std::string_view name) {
  return header.size() > name.size() && header[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), header.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

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

// Requests of this handle end within a second once `stopping` is true; it outlives them.
inline void end_requests_when(const std::atomic<bool>& stopping, CURL* handle) {
  const curl_xferinfo_callback on_progress = [](void* flag, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const std::atomic<bool>*>(flag)->load() ? 1 : 0;
  };
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stopping));
}

// How a transfer ended.
enum class TransferEnd { kWhole, kConnect, kTls, kTimeout, kAborted, kCut, kMalformed, kRefused, kOther };

[[nodiscard]] inline TransferEnd end_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return TransferEnd::kWhole;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return TransferEnd::kConnect;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return TransferEnd::kTls;
    case CURLE_OPERATION_TIMEDOUT:
      return TransferEnd::kTimeout;
    case CURLE_ABORTED_BY_CALLBACK:
      return TransferEnd::kAborted;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return TransferEnd::kCut;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return TransferEnd::kMalformed;
    case CURLE_WRITE_ERROR:  // the client's own callback
      return TransferEnd::kRefused;
    default:
      return TransferEnd::kOther;
  }
}

// A client's own word for that; words: for each TransferEnd, in their order.
template <typename Word>
[[nodiscard]] Word word_of(CURLcode code, const Word (&words)[static_cast<std::size_t>(TransferEnd::kOther) + 1]) {
  return words[static_cast<std::size_t>(end_of(code))];
}

}  // namespace oomw
