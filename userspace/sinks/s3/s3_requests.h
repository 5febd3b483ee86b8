// SPDX-License-Identifier: Apache-2.0
// Where objects go and how they are asked for. Pure: no network, no clock.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/s3/sigv4.h"

namespace oomw {

struct S3Config {
  std::string bucket;    // "" = off
  std::string endpoint;  // "https://minio.example:9000"; "" = AWS in `region`
  std::string region = "us-east-1";
  std::string prefix;               // of every key; "" = none
  std::string style = "auto";       // path: https://HOST/BUCKET/KEY; virtual_host: https://BUCKET.HOST/KEY; auto: the
                                    // first with an endpoint of one's own, the second at AWS
  std::string credentials_file;     // "" = AWS_SHARED_CREDENTIALS_FILE, if it is set
  std::string profile = "default";  // its section
  std::string ca_file;              // "" = the system's
  Nanoseconds timeout = std::chrono::seconds(30);  // of one object
};

// A checked S3Config.
struct S3Target {
  std::string scheme;       // "https"
  std::string host;         // with the port, if it is not the scheme's own
  std::string path_prefix;  // "/bucket", or "" where the host names the bucket
  AwsScope scope;
};

// kInvalid: names what is wrong.
[[nodiscard]] Result<S3Target> make_s3_target(const S3Config& config);

// <prefix>/<cluster>/<yyyy-mm-dd>/<incident id>/ : sorted by day, so that a lifecycle rule or a person can take a day's
// at once. `cluster` "" = "default".
[[nodiscard]] std::string incident_key(const std::string& prefix, const std::string& cluster, const std::string& id);
// "s3://BUCKET/KEY"
[[nodiscard]] std::string object_url(const std::string& bucket, const std::string& key);

[[nodiscard]] AwsRequest put_object(const S3Target& target, const std::string& key, const std::string& payload_sha256);
[[nodiscard]] AwsRequest get_object(const S3Target& target, const std::string& key);
// `delimiter` "/": what lies deeper is folded into common prefixes. `continuation`: of the page before.
[[nodiscard]] AwsRequest list_objects(const S3Target& target, const std::string& prefix, const std::string& delimiter,
                                      const std::string& continuation);
// The URL to send it to.
[[nodiscard]] std::string url_of(const S3Target& target, const AwsRequest& request);

}  // namespace oomw
