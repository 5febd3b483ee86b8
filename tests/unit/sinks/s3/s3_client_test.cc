// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "unit/base/set_clock.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using Kind = S3Outcome::Kind;

struct FakeBucket {
  test::SetClock clock{{1}, *parse_rfc3339("2026-11-24T00:00:00Z")};
  std::vector<S3Call> calls;
  S3Answer answer{200, "", "", S3Failure::kNone, ""};
  unsigned environment_reads = 0;

  S3Client client(const std::string& credentials_file = "") {
    S3Config config;
    config.credentials_file = credentials_file;
    config.bucket = "evidence";
    config.endpoint = "http://bucket.example:9000";
    const auto environment = [](const char* name) -> std::string {
      if (std::string(name) == "AWS_ACCESS_KEY_ID") return "AKIA";
      return std::string(name) == "AWS_SECRET_ACCESS_KEY" ? "secret" : "";
    };
    const auto perform = [this](const S3Call& call) {
      calls.push_back(call);
      return answer;
    };
    return S3Client::make(config, environment, clock, perform, nullptr).value();
  }
};

S3Answer refusal(long status, const std::string& code) {
  return {status, "<Error><Code>" + code + "</Code></Error>", "", S3Failure::kNone, ""};
}

TEST(S3Client, a_file_is_put_with_its_own_hash) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "file";
  std::ofstream(path) << "Welcome to Amazon S3.";
  const UniqueFd fd = open_at(AT_FDCWD, path, O_RDONLY).value();
  FakeBucket bucket;
  EXPECT_EQ(bucket.client().put_file("a/b", fd.get(), 21).kind, Kind::kOk);
  ASSERT_EQ(bucket.calls.size(), 1u);
  EXPECT_EQ(bucket.calls[0].method, "PUT");
  EXPECT_EQ(bucket.calls[0].url, "http://bucket.example:9000/evidence/a/b");
  EXPECT_EQ(bucket.calls[0].body_bytes, 21u);
  EXPECT_THAT(
      bucket.calls[0].headers,
      Contains(Pair("x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")));
  EXPECT_THAT(bucket.calls[0].headers,
              Contains(Pair("Authorization", HasSubstr("Credential=AKIA/20261124/us-east-1/"))));
}

TEST(S3Client, a_file_that_became_shorter_is_not_sent) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "short";
  std::ofstream(path) << "1234";
  const UniqueFd fd = open_at(AT_FDCWD, path, O_RDONLY).value();
  FakeBucket bucket;
  EXPECT_EQ(bucket.client().put_file("k", fd.get(), 5).kind, Kind::kRefused);
  EXPECT_TRUE(bucket.calls.empty());
}

TEST(S3Client, a_listing_is_parsed_and_its_errors_are_named) {
  FakeBucket bucket;
  S3Listing listing;
  bucket.answer.body = "<ListBucketResult><Contents><Key>k</Key><Size>3</Size></Contents></ListBucketResult>";
  EXPECT_EQ(bucket.client().list("p", "", "", listing).kind, Kind::kOk);
  ASSERT_EQ(listing.objects.size(), 1u);
  bucket.answer.body = "<html>";
  EXPECT_EQ(bucket.client().list("p", "", "", listing).kind, Kind::kRefused);
  bucket.answer = refusal(403, "SignatureDoesNotMatch");
  EXPECT_EQ(bucket.client().list("p", "", "", listing).detail, "HTTP status 403 SignatureDoesNotMatch");
}

TEST(S3Client, a_secret_that_is_mended_in_its_file_counts_after_the_next_refusal) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "keys";
  const auto write = [&](const char* secret) {
    std::ofstream(path) << "[default]\naws_access_key_id = AKIA\naws_secret_access_key = " << secret << "\n";
  };
  FakeBucket bucket;
  bucket.answer = refusal(403, "SignatureDoesNotMatch");
  S3Client client = bucket.client(path);
  S3Listing listing;
  for (const char* secret : {"wrong", "wrong", "right"}) {
    write(secret);
    EXPECT_EQ(client.list("p", "", "", listing).kind, Kind::kForbidden);
  }
  ASSERT_EQ(bucket.calls.size(), 3u);
  EXPECT_EQ(bucket.calls[0].headers, bucket.calls[1].headers);
  EXPECT_NE(bucket.calls[1].headers, bucket.calls[2].headers);  // the signature
}

TEST(S3Outcome, an_answer_means_one_thing) {
  EXPECT_EQ(outcome_of(refusal(403, "AccessDenied")).kind, Kind::kForbidden);
  EXPECT_EQ(outcome_of(refusal(400, "ExpiredToken")).kind, Kind::kForbidden);
  EXPECT_EQ(outcome_of(refusal(404, "NoSuchBucket")).kind, Kind::kNotFound);
  EXPECT_EQ(outcome_of(refusal(301, "PermanentRedirect")).kind, Kind::kMisplaced);
  EXPECT_EQ(outcome_of(refusal(503, "SlowDown")).kind, Kind::kBusy);
  EXPECT_EQ(outcome_of(refusal(400, "RequestTimeout")).kind, Kind::kBusy);
  EXPECT_EQ(outcome_of(refusal(400, "EntityTooLarge")).kind, Kind::kTooLarge);
  EXPECT_EQ(outcome_of(refusal(400, "InvalidArgument")).kind, Kind::kRefused);
  EXPECT_EQ(outcome_of({0, "", "", S3Failure::kTimeout, "t"}).kind, Kind::kUnreachable);
  EXPECT_EQ(outcome_of({200, "", "", S3Failure::kTooLong, "t"}).kind, Kind::kUnreachable);
}

TEST(S3Outcome, a_refusal_that_is_cut_short_is_a_refusal) {
  EXPECT_EQ(outcome_of({403, "<Err", "", S3Failure::kCut, "cut"}).kind, Kind::kForbidden);
}

}  // namespace
}  // namespace oomw
