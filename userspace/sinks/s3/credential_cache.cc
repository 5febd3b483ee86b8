// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/credential_cache.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "sinks/s3/s3_answers.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxFileBytes = 64u << 10;
constexpr std::size_t kMaxAnswerBytes = 64u << 10;

// `body` of a refusal is quoted only as far as it is an error's code: it may repeat what was sent.
tl::unexpected<Error> refusal(const char* who, const S3Answer& answer) {
  if (answer.failure != S3Failure::kNone) {
    return fail(ErrorCode::kUnavailable, std::string(who) + ": " + answer.detail);
  }
  const std::string code = parse_s3_error(answer.body).code;
  const bool may_pass = answer.status >= 500 || answer.status == 429;
  return fail(may_pass ? ErrorCode::kUnavailable : ErrorCode::kPermission,
              std::string(who) + ": HTTP status " + std::to_string(answer.status) + (code.empty() ? "" : " " + code));
}

}  // namespace

CredentialCache::CredentialCache(CredentialPlan plan, S3Perform perform, std::string ca_file)
    : plan_(std::move(plan)), perform_(std::move(perform)), ca_file_(std::move(ca_file)) {}

Result<AwsCredentials> CredentialCache::get(WallTime now) {
  const bool is_old_file = plan_.kind == CredentialKind::kFile && now.ns - fetched_.ns >= kFileFor.count();
  const bool has_expired = held_ && held_->expires && held_->expires->ns - kEarly.count() <= now.ns;
  if (held_ && !is_old_file && !has_expired) return held_->credentials;
  held_.reset();
  ASSIGN_OR_RETURN(held_, fetch());
  fetched_ = now;
  return held_->credentials;
}

Result<TimedCredentials> CredentialCache::fetch() const {
  switch (plan_.kind) {
    case CredentialKind::kStatic:
      return TimedCredentials{plan_.fixed, std::nullopt};
    case CredentialKind::kFile: {
      ASSIGN_OR_RETURN(const std::string text, read_file(plan_.file, kMaxFileBytes));
      auto timed = parse_credentials_file(text, plan_.profile);
      if (!timed) return tl::make_unexpected(std::move(timed).error().with_context(printable(plan_.file)));
      return timed;
    }
    case CredentialKind::kWebIdentity:
      return from_sts();
    case CredentialKind::kEndpoint:
      return from_endpoint();
    case CredentialKind::kNone:
      break;
  }
  return fail(ErrorCode::kPermission,
              "no credentials: set sinks.s3.credentials_file, AWS_ACCESS_KEY_ID or a service account's role");
}

Result<TimedCredentials> CredentialCache::from_sts() const {
  ASSIGN_OR_RETURN(const std::string token, read_file(plan_.token_file, kMaxFileBytes));
  S3Call call;
  call.method = "POST";
  call.url = plan_.sts_url;
  call.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  call.body = sts_request_body(plan_, std::string(trim(token)));
  call.ca_file = ca_file_;
  call.timeout = std::chrono::seconds(10);
  call.max_answer_bytes = kMaxAnswerBytes;
  const S3Answer answer = perform_(call);
  if (!answer.is_ok()) return refusal("assuming the role", answer);
  auto timed = parse_sts_answer(answer.body);
  if (!timed) return tl::make_unexpected(std::move(timed).error().with_context("the answer of STS"));
  return timed;
}

Result<TimedCredentials> CredentialCache::from_endpoint() const {
  S3Call call;
  call.method = "GET";
  call.url = plan_.endpoint_url;
  call.ca_file = ca_file_;
  call.timeout = std::chrono::seconds(5);
  call.max_answer_bytes = kMaxAnswerBytes;
  std::string authorization = plan_.authorization_value;
  if (!plan_.token_file.empty()) {
    ASSIGN_OR_RETURN(const std::string token, read_file(plan_.token_file, kMaxFileBytes));
    authorization = trim(token);
  }
  if (authorization.find_first_of("\r\n") != std::string::npos) {
    return fail(ErrorCode::kInvalid, "the container's authorization token has more than one line");
  }
  if (!authorization.empty()) call.headers.emplace_back("Authorization", authorization);
  const S3Answer answer = perform_(call);
  if (!answer.is_ok()) return refusal("asking the container's endpoint for credentials", answer);
  auto timed = parse_endpoint_answer(answer.body);
  if (!timed) return tl::make_unexpected(std::move(timed).error().with_context("the container's endpoint"));
  return timed;
}

}  // namespace oomw
