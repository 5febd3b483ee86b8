// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/api_request.h"

#include <algorithm>

#include "base/bounded_curl.h"
#include "base/text.h"
#include "kubernetes/pod_decoder.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxErrorBody = 4'096;
constexpr long kConnectTimeoutMs = 5'000;
// A watch is silent for a minute between bookmarks; a peer that vanished is noticed within 60 s.
constexpr long kKeepAliveIdleSeconds = 30;
constexpr long kKeepAliveIntervalSeconds = 10;
// curl keeps a parsed CA for a day; the cluster's may be replaced in place.
constexpr long kCaCacheSeconds = 60;

ApiError error_of(CURLcode code) {
  using enum ApiError;
  return word_of<ApiError>(code, {kNone, kConnect, kTls, kTimeout, kInternal, kCut, kMalformed, kInternal, kInternal});
}

bool is_json(const char* content_type) {
  const std::string_view type = content_type == nullptr ? "" : content_type;
  return type == "application/json" || type.starts_with("application/json;");
}

}  // namespace

struct ApiRequest::Impl {
  ApiCall call;
  CurlHandle easy;
  CurlHeaders headers;
  char error[CURL_ERROR_SIZE] = "";
  std::string error_body;
  Nanoseconds retry_after{};
  std::optional<Error> refused;  // by on_bytes

  void set_up(const ApiTarget& target, const std::string& token);
  void set_tls(const ApiTarget& target);
  void set_limits();
  [[nodiscard]] long status() const;
  [[nodiscard]] bool is_answered_in_json() const;
  bool take(std::string_view bytes);
  void take_header(std::string_view header);

  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Impl*>(self)->take({data, size * count}) ? size * count : 0;
  }
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Impl*>(self)->take_header({data, size * count});
    return size * count;
  }
};

void ApiRequest::Impl::set_up(const ApiTarget& target, const std::string& token) {
  add_header(headers, "Authorization: Bearer " + token);
  add_header(headers, "Accept: application/json");
  if (!call.body.empty()) {
    add_header(headers, "Content-Type: application/json");
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.size()));
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, call.body.c_str());
  }
  curl_easy_setopt(easy.get(), CURLOPT_URL, (target.server + call.path).c_str());
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, on_write);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, this);
  set_tls(target);
  set_limits();
}

void ApiRequest::Impl::set_tls(const ApiTarget& target) {
  curl_easy_setopt(easy.get(), CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy.get(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy.get(), CURLOPT_CAINFO, target.ca_file.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_CAPATH, nullptr);  // the node's own CAs are not trusted here
  curl_easy_setopt(easy.get(), CURLOPT_CA_CACHE_TIMEOUT, kCaCacheSeconds);
}

void ApiRequest::Impl::set_limits() {
  const auto seconds = [](Nanoseconds d) { return std::chrono::ceil<std::chrono::seconds>(d).count(); };
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(call.timeout).count();
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, std::min<long>(kConnectTimeoutMs, ms));
  if (call.silence != Nanoseconds(0)) {
    curl_easy_setopt(easy.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy.get(), CURLOPT_LOW_SPEED_TIME, static_cast<long>(seconds(call.silence)));
  }
  curl_easy_setopt(easy.get(), CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy.get(), CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
}

long ApiRequest::Impl::status() const {
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

bool ApiRequest::Impl::is_answered_in_json() const {
  char* type = nullptr;
  curl_easy_getinfo(easy.get(), CURLINFO_CONTENT_TYPE, &type);
  return is_json(type);
}

bool ApiRequest::Impl::take(std::string_view bytes) {
  if (error_of_status(status()) != ApiError::kNone) {
    error_body.append(bytes.substr(0, kMaxErrorBody - error_body.size()));
    return error_body.size() < kMaxErrorBody;
  }
  if (!is_answered_in_json()) return false;
  if (!call.on_bytes) return true;
  Result<> taken = call.on_bytes(bytes);
  if (!taken.has_value()) refused = std::move(taken).error();
  return !refused;
}

void ApiRequest::Impl::take_header(std::string_view header) {
  constexpr std::string_view kRetryAfter = "retry-after";
  if (has_name(header, kRetryAfter)) retry_after = parse_retry_after(header.substr(kRetryAfter.size() + 1));
  const bool is_end = header == "\r\n" || header == "\n";
  if (is_end && call.on_answer && error_of_status(status()) == ApiError::kNone && is_answered_in_json()) {
    call.on_answer();
  }
}

ApiRequest::ApiRequest(const ApiTarget& target, const std::string& token, ApiCall call)
    : impl_(std::make_unique<Impl>()) {
  impl_->call = std::move(call);
  impl_->easy = make_bounded_curl("https", impl_->call.timeout);
  OOMW_CHECK(impl_->easy != nullptr);
  impl_->set_up(target, token);
}

ApiRequest::~ApiRequest() = default;

void* ApiRequest::handle() const { return impl_->easy.get(); }

ApiOutcome ApiRequest::perform() { return outcome(curl_easy_perform(impl_->easy.get())); }

// The answer's status takes precedence over how the transfer ended: a 403 cut short is a 403.
ApiOutcome ApiRequest::outcome(int curl_code) const {
  const auto code = static_cast<CURLcode>(curl_code);
  const long status = impl_->status();
  ApiOutcome outcome{ApiError::kNone, "", impl_->retry_after};
  if (status != 0 && error_of_status(status) != ApiError::kNone) {
    const std::string message = status_message(impl_->error_body);
    outcome.error = error_of_status(status);
    // Not a permission that is missing: nothing will be created there, and all else goes on.
    if (outcome.error == ApiError::kForbidden && is_namespace_ending(impl_->error_body))
      outcome.error = ApiError::kHttp;
    outcome.detail = "HTTP status " + std::to_string(status) + (message.empty() ? "" : ": " + message);
  } else if (impl_->refused) {
    outcome.error = impl_->refused->code == ErrorCode::kLimit ? ApiError::kTooLarge : ApiError::kMalformed;
    outcome.detail = impl_->refused->message;
  } else if (status != 0 && !impl_->is_answered_in_json()) {
    outcome.error = ApiError::kContentType;
    outcome.detail = "an answer that is not application/json";
  } else if (code != CURLE_OK) {
    outcome.error = error_of(code);
    outcome.detail = printable(impl_->error[0] != '\0' ? impl_->error : curl_easy_strerror(code));
  }
  return outcome;
}

}  // namespace oomw
