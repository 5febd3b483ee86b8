// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

S3Config config_of(const std::string& bucket, const std::string& endpoint) {
  S3Config config;
  config.bucket = bucket;
  config.endpoint = endpoint;
  return config;
}

std::string put_url(const S3Config& config, const std::string& key) {
  const auto target = make_s3_target(config);
  if (!target) return "error: " + target.error().message;
  return url_of(*target, put_object(*target, key, std::string(kEmptySha256)));
}

TEST(S3Target, at_aws_the_host_names_the_bucket) {
  S3Config config = config_of("evidence", "");
  config.region = "eu-central-1";
  EXPECT_EQ(put_url(config, "a/b"), "https://evidence.s3.eu-central-1.amazonaws.com/a/b");
}

TEST(S3Target, a_bucket_with_a_dot_goes_into_the_path_because_no_certificate_covers_it) {
  EXPECT_EQ(put_url(config_of("my.evidence", ""), "k"), "https://s3.us-east-1.amazonaws.com/my.evidence/k");
}

TEST(S3Target, at_an_endpoint_of_ones_own_the_path_names_the_bucket) {
  EXPECT_EQ(put_url(config_of("evidence", "http://minio.storage:9000"), "a/b"),
            "http://minio.storage:9000/evidence/a/b");
}

TEST(S3Target, style_overrides_the_default) {
  S3Config config = config_of("evidence", "https://objects.example");
  config.style = "virtual_host";
  EXPECT_EQ(put_url(config, "k"), "https://evidence.objects.example/k");
  config = config_of("evidence", "");
  config.style = "path";
  EXPECT_EQ(put_url(config, "k"), "https://s3.us-east-1.amazonaws.com/evidence/k");
}

TEST(S3Target, the_schemes_own_port_is_not_signed_because_curl_does_not_send_it) {
  EXPECT_EQ(make_s3_target(config_of("evidence", "https://o.example:443/"))->host, "o.example");
  EXPECT_EQ(make_s3_target(config_of("evidence", "http://o.example:80"))->host, "o.example");
  EXPECT_EQ(make_s3_target(config_of("evidence", "http://o.example:443"))->host, "o.example:443");
}

TEST(S3Target, wrong_settings_are_refused_by_name) {
  EXPECT_THAT(put_url(config_of("Evidence/..", ""), "k"), HasSubstr("sinks.s3.bucket"));
  EXPECT_THAT(put_url(config_of("a..b", ""), "k"), HasSubstr("sinks.s3.bucket"));
  EXPECT_THAT(put_url(config_of("evidence", "ftp://h"), "k"), HasSubstr("sinks.s3.endpoint"));
  EXPECT_THAT(put_url(config_of("evidence", "https://user:word@h"), "k"), HasSubstr("sinks.s3.endpoint"));
  EXPECT_THAT(put_url(config_of("evidence", "https://h/base"), "k"), HasSubstr("sinks.s3.endpoint"));
}

TEST(IncidentKey, days_sort_and_nothing_leads_out) {
  EXPECT_EQ(incident_key("oom", "prod", "20261121T030405Z-1a2b3c4d"), "oom/prod/2026-11-21/20261121T030405Z-1a2b3c4d/");
  EXPECT_EQ(incident_key("", "", "20261121T030405Z-1a2b3c4d"), "default/2026-11-21/20261121T030405Z-1a2b3c4d/");
  EXPECT_EQ(incident_key("/a/b/", "x/../y", "20261121T030405Z-1a2b3c4d"),
            "a/b/x_.._y/2026-11-21/20261121T030405Z-1a2b3c4d/");
}

TEST(S3Requests, the_payloads_true_hash_is_sent_and_signed) {
  const S3Target target = *make_s3_target(config_of("evidence", "http://h:9000"));
  EXPECT_THAT(put_object(target, "k", "abc").headers, Contains(Pair("x-amz-content-sha256", "abc")));
}

TEST(S3Requests, a_listing_is_asked_for_by_prefix_and_page) {
  const S3Target target = *make_s3_target(config_of("evidence", "http://h:9000"));
  EXPECT_EQ(url_of(target, list_objects(target, "oom/prod/", "/", "to ken")),
            "http://h:9000/evidence/?continuation-token=to%20ken&delimiter=%2F&list-type=2&prefix=oom%2Fprod%2F");
}

}  // namespace
}  // namespace oomw
