// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/s3/credential_cache.h"
#include "sinks/s3/s3_answers.h"
#include "sinks/s3/s3_call.h"
#include "sinks/s3/s3_requests.h"

namespace oomw {

// How a call of S3 ended, for callers that decide whether to try again.
struct S3Outcome {
  enum class Kind {
    kOk,
    kNotFound,
    kUnreachable,  // no whole answer: see failure
    kBusy,         // 429 and 5xx
    kForbidden,    // the keys, or what they may do
    kMisplaced,    // a redirect: another region or endpoint has the bucket
    kTooLarge,
    kRefused,
  };
  Kind kind = Kind::kOk;
  S3Failure failure = S3Failure::kNone;
  std::string detail;  // for people, printable; never a secret
  std::string retry_after;
};

// What we ask of a bucket: PutObject for the daemon; ListBucket and GetObject for `oomwitness fetch`. Every request is
// signed with the hash of its true payload. One thread; blocks.
class S3Client {
 public:
  // kInvalid: the configuration is wrong. `clock` and `perform` outlive this.
  [[nodiscard]] static Result<S3Client> make(const S3Config& config, const AwsEnvironment& environment,
                                             const Clock& clock, S3Perform perform, const std::atomic<bool>* stopping);

  // The whole of a plain file that is open for reading.
  [[nodiscard]] S3Outcome put_file(const std::string& key, int fd, std::uint64_t bytes);
  // The object's bytes as they come; more than max_bytes of them are a failure.
  [[nodiscard]] S3Outcome get(const std::string& key, std::size_t max_bytes,
                              const std::function<Result<>(std::string_view)>& on_bytes);
  [[nodiscard]] S3Outcome list(const std::string& prefix, const std::string& delimiter, const std::string& continuation,
                               S3Listing& listing);

 private:
  S3Client(S3Config config, S3Target target, CredentialCache credentials, const Clock& clock, S3Perform perform,
           const std::atomic<bool>* stopping);
  [[nodiscard]] S3Outcome send(AwsRequest request, S3Call call, std::string* body = nullptr);

  S3Config config_;
  S3Target target_;
  CredentialCache credentials_;
  const Clock* clock_;
  S3Perform perform_;
  const std::atomic<bool>* stopping_;
};

[[nodiscard]] S3Outcome outcome_of(const S3Answer& answer);
// Whether an error's code says that other credentials, or a corrected clock, would do.
[[nodiscard]] bool is_about_credentials(std::string_view code);

}  // namespace oomw
