// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "sinks/s3/sha256.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxListingBytes = 2u << 20;  // 1,000 keys of 1,024 bytes, escaped

// The hash of the file's first `bytes` bytes; they must be there.
Result<std::string> hash_of(int fd, std::uint64_t bytes) {
  Sha256 hash;
  std::array<char, 64 << 10> buffer{};
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t got =
        ::pread(fd, buffer.data(), std::min<std::uint64_t>(buffer.size(), bytes - at), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "reading the file");
    if (got == 0) return fail(ErrorCode::kInvalid, "the file became shorter");
    hash.add({buffer.data(), static_cast<std::size_t>(got)});
    at += static_cast<std::uint64_t>(got);
  }
  return to_hex(hash.finish());
}

S3Outcome::Kind kind_of(long status) {
  if (status >= 200 && status < 300) return S3Outcome::Kind::kOk;
  if (status >= 300 && status < 400) return S3Outcome::Kind::kMisplaced;
  switch (status) {
    case 401:
    case 403:
      return S3Outcome::Kind::kForbidden;
    case 404:
      return S3Outcome::Kind::kNotFound;
    case 413:
      return S3Outcome::Kind::kTooLarge;
    case 408:
    case 409:
    case 429:
      return S3Outcome::Kind::kBusy;
    default:
      return status >= 500 ? S3Outcome::Kind::kBusy : S3Outcome::Kind::kRefused;
  }
}

S3Outcome failed(S3Outcome::Kind kind, std::string detail) { return {kind, S3Failure::kNone, std::move(detail), ""}; }

S3Outcome no_credentials(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return failed(S3Outcome::Kind::kForbidden, error.message);
  return {S3Outcome::Kind::kUnreachable, S3Failure::kConnect, error.message, ""};
}

}  // namespace

bool is_about_credentials(std::string_view code) {
  static constexpr std::array<std::string_view, 7> kCodes = {
      "ExpiredToken",         "ExpiredTokenException", "InvalidToken",         "InvalidAccessKeyId",
      "TokenRefreshRequired", "RequestTimeTooSkewed",  "SignatureDoesNotMatch"};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

S3Outcome outcome_of(const S3Answer& answer) {
  S3Outcome outcome;
  outcome.retry_after = answer.retry_after;
  const bool is_refusal = answer.status >= 300;  // one that is cut short is one all the same
  if (answer.failure != S3Failure::kNone && !is_refusal) {
    outcome.kind = S3Outcome::Kind::kUnreachable;
    outcome.failure = answer.failure;
    outcome.detail = answer.detail;
    return outcome;
  }
  outcome.kind = kind_of(answer.status);
  if (outcome.kind == S3Outcome::Kind::kOk) return outcome;
  const S3Error error = parse_s3_error(answer.body);
  outcome.detail = "HTTP status " + std::to_string(answer.status);
  if (!error.code.empty()) outcome.detail += " " + error.code;
  if (!error.message.empty()) outcome.detail += ": " + error.message;
  if (error.code == "EntityTooLarge") outcome.kind = S3Outcome::Kind::kTooLarge;
  if (error.code == "RequestTimeout") outcome.kind = S3Outcome::Kind::kBusy;
  if (is_about_credentials(error.code)) outcome.kind = S3Outcome::Kind::kForbidden;
  return outcome;
}

Result<S3Client> S3Client::make(const S3Config& config, const AwsEnvironment& environment, const Clock& clock,
                                S3Perform perform, const std::atomic<bool>* stopping) {
  ASSIGN_OR_RETURN(S3Target target, make_s3_target(config));
  ASSIGN_OR_RETURN(CredentialPlan plan,
                   plan_credentials({config.credentials_file, config.profile, config.region}, environment));
  CredentialCache credentials(std::move(plan), perform, config.ca_file);
  return S3Client(config, std::move(target), std::move(credentials), clock, std::move(perform), stopping);
}

S3Client::S3Client(S3Config config, S3Target target, CredentialCache credentials, const Clock& clock, S3Perform perform,
                   const std::atomic<bool>* stopping)
    : config_(std::move(config)),
      target_(std::move(target)),
      credentials_(std::move(credentials)),
      clock_(&clock),
      perform_(std::move(perform)),
      stopping_(stopping) {}

S3Outcome S3Client::send(AwsRequest request, S3Call call, std::string* body) {
  const WallTime now = clock_->wall_now();
  const Result<AwsCredentials> keys = credentials_.get(now);
  if (!keys) return no_credentials(keys.error());
  sign(request, *keys, target_.scope, now);
  call.method = request.method;
  call.url = url_of(target_, request);
  call.headers = std::move(request.headers);
  call.ca_file = config_.ca_file;
  call.timeout = config_.timeout;
  call.stopping = stopping_;
  S3Answer answer = perform_(call);
  if (answer.status >= 400 && is_about_credentials(parse_s3_error(answer.body).code)) credentials_.forget();
  S3Outcome outcome = outcome_of(answer);  // reads the body
  if (body != nullptr) *body = std::move(answer.body);
  return outcome;
}

S3Outcome S3Client::put_file(const std::string& key, int fd, std::uint64_t bytes) {
  const Result<std::string> hash = hash_of(fd, bytes);
  if (!hash) return failed(S3Outcome::Kind::kRefused, hash.error().message);
  S3Call call;
  call.body_fd = fd;
  call.body_bytes = bytes;
  return send(put_object(target_, key, *hash), std::move(call));
}

S3Outcome S3Client::get(const std::string& key, std::size_t max_bytes,
                        const std::function<Result<>(std::string_view)>& on_bytes) {
  S3Call call;
  call.max_answer_bytes = max_bytes;
  call.on_bytes = on_bytes;
  return send(get_object(target_, key), std::move(call));
}

S3Outcome S3Client::list(const std::string& prefix, const std::string& delimiter, const std::string& continuation,
                         S3Listing& listing) {
  S3Call call;
  call.max_answer_bytes = kMaxListingBytes;
  std::string body;
  S3Outcome outcome = send(list_objects(target_, prefix, delimiter, continuation), std::move(call), &body);
  if (outcome.kind != S3Outcome::Kind::kOk) return outcome;
  Result<S3Listing> parsed = parse_listing(body);
  if (!parsed) return failed(S3Outcome::Kind::kRefused, parsed.error().message);
  listing = std::move(*parsed);
  return outcome;
}

}  // namespace oomw
