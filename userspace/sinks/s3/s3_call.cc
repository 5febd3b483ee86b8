// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_call.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/bounded_curl.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr long kConnectTimeoutMs = 5'000;
constexpr long kSilenceSeconds = 15;
constexpr std::size_t kMaxErrorBytes = 4'096;

S3Failure failure_of(CURLcode code) {
  using enum S3Failure;
  return word_of<S3Failure>(code, {kNone, kConnect, kTls, kTimeout, kTimeout, kCut, kOther, kOther, kOther});
}

class Exchange {
 public:
  explicit Exchange(const S3Call& call) : call_(call), easy_(make_bounded_curl("http,https", call.timeout)) {
    OOMW_CHECK(easy_ != nullptr);
    set_request();
    set_body();
    set_answer();
  }

  S3Answer run() {
    const CURLcode code = curl_easy_perform(easy_.get());
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &answer_.status);
    answer_.failure = refused_ ? *refused_ : failure_of(code);
    if (answer_.failure != S3Failure::kNone && answer_.detail.empty()) {
      answer_.detail = printable(error_[0] != '\0' ? error_ : curl_easy_strerror(code), 200);
    }
    return std::move(answer_);
  }

 private:
  void set_request() {
    CURL* easy = easy_.get();
    for (const auto& [name, value] : call_.headers) add_header(headers_, name + ": " + value);
    add_header(headers_, "Expect:");  // an answer before the body is read is one, and no round trip is spent
    curl_easy_setopt(easy, CURLOPT_URL, call_.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // the path that is signed
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call_.method.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kSilenceSeconds);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!call_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, call_.ca_file.c_str());
  }

  void set_body() {
    CURL* easy = easy_.get();
    if (call_.body_fd >= 0) {
      curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
      curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call_.body_bytes));
      curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
      curl_easy_setopt(easy, CURLOPT_READDATA, this);
    } else if (!call_.body.empty() || call_.method == "POST" || call_.method == "PUT") {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call_.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call_.body.c_str());
    }
  }

  void set_answer() {
    CURL* easy = easy_.get();
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, this);
  }

  bool refuse(S3Failure failure, std::string detail) {
    refused_ = failure;
    answer_.detail = std::move(detail);
    return false;
  }

  bool take(std::string_view bytes) {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    const bool is_success = status >= 200 && status < 300;
    if (!is_success) {  // only the beginning of an error is of interest
      answer_.body.append(bytes.substr(0, kMaxErrorBytes - std::min(kMaxErrorBytes, answer_.body.size())));
      received_ += bytes.size();
      return received_ <= call_.max_answer_bytes || refuse(S3Failure::kTooLong, "an endless answer");
    }
    received_ += bytes.size();
    if (received_ > call_.max_answer_bytes) {
      return refuse(S3Failure::kTooLong, "an answer longer than " + human_bytes(call_.max_answer_bytes));
    }
    if (!call_.on_bytes) return answer_.body.append(bytes), true;
    const Result<> taken = call_.on_bytes(bytes);
    return taken.has_value() || refuse(S3Failure::kOther, taken.error().message);
  }

  void take_header(std::string_view line) {
    constexpr std::string_view kName = "retry-after";
    if (has_name(line, kName)) answer_.retry_after = trim(line.substr(kName.size() + 1, 128));
  }

  static std::size_t on_read(char* buffer, std::size_t size, std::size_t count, void* self) {
    auto* exchange = static_cast<Exchange*>(self);
    const std::uint64_t left = exchange->call_.body_bytes - exchange->sent_;
    const ssize_t got = ::pread(exchange->call_.body_fd, buffer, std::min<std::uint64_t>(size * count, left),
                                static_cast<off_t>(exchange->sent_));
    if (got < 0) return CURL_READFUNC_ABORT;
    exchange->sent_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Exchange*>(self)->take({data, size * count}) ? size * count : 0;
  }
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Exchange*>(self)->take_header({data, size * count});
    return size * count;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto* stopping = static_cast<Exchange*>(self)->call_.stopping;
    return stopping != nullptr && stopping->load() ? 1 : 0;
  }

  const S3Call& call_;
  CurlHandle easy_;
  CurlHeaders headers_;
  char error_[CURL_ERROR_SIZE] = "";
  std::uint64_t sent_ = 0;
  std::size_t received_ = 0;
  std::optional<S3Failure> refused_;
  S3Answer answer_;
};

}  // namespace

S3Answer perform(const S3Call& call) { return Exchange(call).run(); }

}  // namespace oomw
