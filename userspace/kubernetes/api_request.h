// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kubernetes/api_error.h"
#include "kubernetes/api_target.h"

namespace oomw {

struct ApiCall {
  std::string path;     // and query
  std::string body;     // JSON to POST; "" = GET
  Nanoseconds timeout;  // for the whole request
  Nanoseconds silence;  // longest time without a byte; 0 = no bound
  // For 2xx answers only: called when the answer begins, and with its bytes as they come. An error ends the transfer.
  std::function<void()> on_answer;
  std::function<Result<>(std::string_view bytes)> on_bytes;
};

// One request to the API server and its answer: TLS verified against the cluster's CA and the server's
// name, no redirect, proxy, cookie or compression. An answer that is not 2xx application/json is an
// error; at most 4 KB of its body are kept for the message. Owns a curl handle; one thread.
class ApiRequest {
 public:
  ApiRequest(const ApiTarget& target, const std::string& token, ApiCall call);
  ~ApiRequest();
  ApiRequest(const ApiRequest&) = delete;
  ApiRequest& operator=(const ApiRequest&) = delete;

  [[nodiscard]] void* handle() const;                     // CURL*, for a curl_multi
  [[nodiscard]] ApiOutcome outcome(int curl_code) const;  // when it has ended
  [[nodiscard]] ApiOutcome perform();                     // the whole request, blocking

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
