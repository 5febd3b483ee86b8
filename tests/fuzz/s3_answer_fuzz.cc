// SPDX-License-Identifier: Apache-2.0
// What a bucket, STS or a container's credential endpoint, or an impostor, may answer; and a credentials file.

#include "base/result.h"
#include "base/text.h"
#include "fuzz/text_target.h"
#include "sinks/s3/credential_source.h"
#include "sinks/s3/s3_answers.h"

namespace {

// What becomes a header must not end it.
void check(const oomw::Result<oomw::TimedCredentials>& timed) {
  if (!timed.has_value()) return;
  const oomw::AwsCredentials& keys = timed->credentials;
  for (const std::string* secret : {&keys.access_key_id, &keys.secret_access_key, &keys.session_token}) {
    OOMW_CHECK(secret->find_first_of("\r\n ") == std::string::npos);
  }
}

}  // namespace

void fuzz_text(std::string_view bytes) {
  if (const auto listing = oomw::parse_listing(bytes); listing.has_value()) {
    OOMW_CHECK(listing->objects.size() <= oomw::kMaxListedObjects);
    for (const oomw::S3Object& object : listing->objects) OOMW_CHECK(object.key.size() <= oomw::kMaxKeyBytes);
  }
  const oomw::S3Error error = oomw::parse_s3_error(bytes);
  OOMW_CHECK(error.code == oomw::printable(error.code) && error.message == oomw::printable(error.message));
  check(oomw::parse_sts_answer(bytes));
  check(oomw::parse_endpoint_answer(bytes));
  check(oomw::parse_credentials_file(bytes, "default"));
}
