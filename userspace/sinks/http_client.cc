// SPDX-License-Identifier: Apache-2.0
#include "sinks/http_client.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/bounded_curl.h"
#include "base/files.h"
#include "base/text.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64u << 10;
constexpr std::size_t kMaxHeaders = 64;
constexpr std::size_t kMaxHttpDetail = 256;
constexpr std::size_t kMaxField = 256;
constexpr long kConnectTimeoutMs = 5'000;
constexpr std::chrono::seconds kMostRetryAfter = std::chrono::hours(1);

DeliveryReason reason_of(CURLcode code) {
  using enum DeliveryReason;
  return word_of<DeliveryReason>(code, {kCut, kConnect, kTls, kTimeout, kCut, kCut, kBadAnswer, kBadAnswer, kCut});
}

DeliveryReason reason_of(long status) {
  if (status >= 300 && status < 400) return DeliveryReason::kRedirect;
  switch (status) {
    case 401:
      return DeliveryReason::kUnauthorized;
    case 403:
      return DeliveryReason::kForbidden;
    case 413:
      return DeliveryReason::kTooLarge;
    case 429:
      return DeliveryReason::kRateLimited;
    case 502:
    case 503:
    case 504:
      return DeliveryReason::kUnavailable;
    default:
      return DeliveryReason::kRefused;
  }
}

std::string header_text(const std::string& value) {
  std::string text = value.substr(0, kMaxField);
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

struct HttpClient::Impl {
  HttpEndpoint endpoint;
  std::shared_ptr<const std::atomic<bool>> stopping;
  CurlHandle easy;
  char error[CURL_ERROR_SIZE] = "";
  HttpAnswer answer;
  std::string retry_after;

  void set_up();
  [[nodiscard]] Result<CurlHeaders> headers_for(const HttpPost& request) const;
  void perform();

  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) {
    std::string& body = static_cast<Impl*>(self)->answer.body;
    if (body.size() + size * count > kMaxAnswer) return 0;
    body.append(data, size * count);
    return size * count;
  }
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    constexpr std::string_view kRetryAfter = "retry-after";
    const std::string_view header(data, size * count);
    if (has_name(header, kRetryAfter)) {
      static_cast<Impl*>(self)->retry_after = std::string(trim(header.substr(kRetryAfter.size() + 1)));
    }
    return size * count;
  }
};

void HttpClient::Impl::set_up() {
  easy = make_bounded_curl(endpoint.url.starts_with("https:") ? "https" : "http", endpoint.timeout);
  OOMW_CHECK(easy != nullptr);
  CURL* const handle = easy.get();
  curl_easy_setopt(handle, CURLOPT_URL, endpoint.url.c_str());
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_write);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, this);
  end_requests_when(*stopping, handle);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!endpoint.ca_file.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, endpoint.ca_file.c_str());
    curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  }
  if (!endpoint.certificate_file.empty()) {
    curl_easy_setopt(handle, CURLOPT_SSLCERT, endpoint.certificate_file.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLKEY, endpoint.key_file.c_str());
  }
}

Result<CurlHeaders> HttpClient::Impl::headers_for(const HttpPost& request) const {
  CurlHeaders headers;
  add_header(headers, "Content-Type: " + request.content_type);
  add_header(headers, "Expect:");  // curl would wait a second for 100 Continue
  if (request.gzip) add_header(headers, "Content-Encoding: gzip");
  for (const std::string& line : endpoint.headers) add_header(headers, line);
  if (endpoint.headers_file.empty()) return headers;
  ASSIGN_OR_RETURN(const std::string text, read_file(endpoint.headers_file, kMaxHeaderBytes));
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, parse_header_lines(text));
  for (const std::string& line : lines) add_header(headers, filled_header(line, request.header_field));
  return headers;
}

void HttpClient::Impl::perform() {
  const CURLcode code = curl_easy_perform(easy.get());
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  char* type = nullptr;
  curl_easy_getinfo(easy.get(), CURLINFO_CONTENT_TYPE, &type);
  if (type != nullptr) answer.content_type = type;
  if (!retry_after.empty()) answer.retry_after = retry_after_of(retry_after, SystemClock().wall_now());
  if (code == CURLE_OK) return;
  // A refusal that is cut short is a refusal. A success that is cut short may not be one.
  if (answer.status >= 300) return;
  answer.failure = reason_of(code);
  answer.detail = printable(error[0] != '\0' ? error : curl_easy_strerror(code), kMaxHttpDetail);
  if (code == CURLE_WRITE_ERROR) answer.detail = "the answer is longer than any that is expected";
  answer.status = 0;
}

HttpClient::HttpClient(HttpEndpoint endpoint, std::shared_ptr<const std::atomic<bool>> stopping)
    : impl_(std::make_unique<Impl>()) {
  impl_->endpoint = std::move(endpoint);
  impl_->stopping = std::move(stopping);
  impl_->set_up();
}

HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::post(const HttpPost& request) {
  impl_->answer = HttpAnswer();
  impl_->error[0] = '\0';
  impl_->retry_after.clear();
  const Result<CurlHeaders> headers = impl_->headers_for(request);
  if (!headers) {
    impl_->answer.failure = DeliveryReason::kSetup;
    impl_->answer.detail = printable(headers.error().message, kMaxHttpDetail);
    return impl_->answer;
  }
  const std::string packed = request.gzip ? pprof::gzip(request.body) : "";
  const std::string_view body = request.gzip ? std::string_view(packed) : request.body;
  curl_easy_setopt(impl_->easy.get(), CURLOPT_HTTPHEADER, headers->get());
  curl_easy_setopt(impl_->easy.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(impl_->easy.get(), CURLOPT_POSTFIELDS, body.data());
  impl_->perform();
  curl_easy_setopt(impl_->easy.get(), CURLOPT_HTTPHEADER, nullptr);
  return std::move(impl_->answer);
}

bool is_http_url(std::string_view url) {
  const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || url.size() == scheme || url.size() > 2'048) return false;
  const std::string_view host = url.substr(scheme, url.find_first_of("/?#", scheme) - scheme);
  const bool is_plain = std::ranges::all_of(url, [](char c) { return c > ' ' && c < 0x7f; });
  return is_plain && !host.empty() && host.find('@') == std::string_view::npos;
}

Result<std::vector<std::string>> parse_header_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    const auto colon = line.find(':');
    const bool is_name =
        colon != std::string_view::npos && colon > 0 && std::ranges::all_of(line.substr(0, colon), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '-' || c == '_';
        });
    const bool is_value = std::ranges::none_of(line, [](unsigned char c) { return c < ' ' && c != '\t'; });
    // The line itself may be a secret.
    if (!is_name || !is_value) return fail(ErrorCode::kInvalid, "a line of the headers is not 'Name: value'");
    if (lines.size() >= kMaxHeaders) return fail(ErrorCode::kLimit, "too many headers");
    lines.emplace_back(line);
  }
  return lines;
}

std::string filled_header(const std::string& line, const HeaderField& field) {
  if (!field) return line;
  std::size_t at = std::min(line.find(':'), line.size());
  std::string filled = line.substr(0, at);
  while (at < line.size()) {
    const std::size_t open = std::min(line.find('{', at), line.size()), end = line.find('}', open);
    filled += line.substr(at, open - at);
    if (end == std::string::npos) return filled + line.substr(open);
    const std::optional<std::string> value = field(std::string_view(line).substr(open + 1, end - open - 1));
    // Without a value only the brace is passed: what follows may have a field.
    filled += value ? header_text(*value) : "{";
    at = value ? end + 1 : open + 1;
  }
  return filled;
}

Delivery delivery_of(const HttpAnswer& answer) {
  if (answer.failure != DeliveryReason::kNone) return Delivery::retry(answer.failure, answer.detail);
  if (answer.status >= 200 && answer.status < 300) return Delivery::sent();
  const DeliveryReason reason = reason_of(answer.status);
  std::string detail = "HTTP status " + std::to_string(answer.status);
  if (!answer.body.empty()) detail += ": " + printable(answer.body, kMaxHttpDetail);
  if (reason == DeliveryReason::kRateLimited || reason == DeliveryReason::kUnavailable) {
    return Delivery::retry(reason, std::move(detail), answer.retry_after);
  }
  return Delivery::refused(reason, std::move(detail));
}

Nanoseconds retry_after_of(std::string_view value, WallTime now) {
  const std::string text(trim(value));
  if (const auto seconds = parse_u64(text)) {
    return std::chrono::seconds(std::min<std::uint64_t>(*seconds, kMostRetryAfter.count()));
  }
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return {};
  // In seconds: a date of the year 6066 has no nanoseconds.
  const std::chrono::seconds wait(date - now.ns / 1'000'000'000);
  return std::clamp(wait, std::chrono::seconds(0), kMostRetryAfter);
}

}  // namespace oomw
