// SPDX-License-Identifier: Apache-2.0
// AWS Signature Version 4 for S3 and what speaks its protocol. Pure: requests and times are values. libcurl's own
// signer is not used: Debian 12's signs the hash of an empty body unless the caller computes the hash, and then the
// rest is these 100 lines.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace oomw {

// Secrets: never logged, never part of an error message.
struct AwsCredentials {
  std::string access_key_id, secret_access_key;
  std::string session_token;  // "" = long-lived keys
};

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct AwsRequest {
  std::string method;  // "PUT"
  std::string host;    // with ":port" where that is not the scheme's own
  std::string path;    // "/bucket/key", not yet encoded
  HttpFields query;    // not yet encoded
  HttpFields headers;  // to send and to sign
  std::string payload_sha256;
};

struct AwsScope {
  std::string region;   // "eu-central-1"; most other implementations take any
  std::string service;  // "s3"
};

// Hash of the empty body.
inline constexpr std::string_view kEmptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Encodes all but A-Z a-z 0-9 - . _ ~; `keeps_slash` for paths.
[[nodiscard]] std::string uri_encoded(std::string_view text, bool keeps_slash);
// "prefix=J&max-keys=2", encoded and in the order of the signature.
[[nodiscard]] std::string canonical_query(const HttpFields& query);

// Adds x-amz-date, x-amz-security-token (if there is one) and Authorization to the request's headers. All headers that
// are there already are signed, and `host`.
void sign(AwsRequest& request, const AwsCredentials& credentials, const AwsScope& scope, WallTime now);

}  // namespace oomw
