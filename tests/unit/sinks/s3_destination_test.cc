// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3_destination.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "sinks/bucket_reader.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr const char* kId = "20261121T030405Z-1a2b3c4d";

// Gives the answers of a list and remembers the requests.
struct FakeBucket {
  SystemClock clock;
  std::vector<std::string> urls;
  std::vector<S3Answer> answers;  // in order; then 200

  S3Client client() {
    S3Config config;
    config.bucket = "evidence";
    config.endpoint = "http://b:9000";
    const auto environment = [](const char* name) -> std::string {
      return std::string(name) == "AWS_ACCESS_KEY_ID" || std::string(name) == "AWS_SECRET_ACCESS_KEY" ? "k" : "";
    };
    return S3Client::make(
               config, environment, clock,
               [this](const S3Call& call) {
                 urls.push_back(call.url.substr(call.url.find("/evidence/") + 10));
                 if (answers.empty()) return S3Answer{200, "", "", S3Failure::kNone, ""};
                 S3Answer answer = answers.front();
                 answers.erase(answers.begin());
                 if (call.on_bytes && answer.is_ok()) (void)call.on_bytes(answer.body);
                 return answer;
               },
               nullptr)
        .value();
  }
};

class S3DestinationTest : public testing::Test {
 protected:
  void SetUp() override {
    put("incident.json", "{}");
    put("report.md", "r");
    put(".delivery-otlp", "{}");
    stored_.directory = directory_.path();
    stored_.incident.id = kId;
  }
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file_atomic(directory_ / name, text).has_value());
  }

  test::TemporaryDirectory directory_;
  FakeBucket bucket_;
  StoredIncident stored_;
};

TEST_F(S3DestinationTest, files_go_below_cluster_and_day_incident_json_last) {
  S3Destination destination(bucket_.client(), "oom", "prod");
  EXPECT_EQ(destination.deliver(stored_, 1).outcome, Delivery::Outcome::kSent);
  const std::string folder = std::string("oom/prod/2026-11-21/") + kId + "/";
  EXPECT_THAT(bucket_.urls, ElementsAre(folder + "report.md", folder + "incident.json"));
}

TEST_F(S3DestinationTest, a_revision_sends_only_what_changed) {
  S3Destination destination(bucket_.client(), "", "");
  ASSERT_EQ(destination.deliver(stored_, 1).outcome, Delivery::Outcome::kSent);
  bucket_.urls.clear();
  put("incident.json", "{\"id\": 1}");
  EXPECT_EQ(destination.deliver(stored_, 2).outcome, Delivery::Outcome::kSent);
  EXPECT_THAT(bucket_.urls, ElementsAre(std::string("default/2026-11-21/") + kId + "/incident.json"));
}

TEST_F(S3DestinationTest, after_a_failure_it_goes_on_where_it_stopped) {
  bucket_.answers = {{200, "", "", S3Failure::kNone, ""}, {503, "", "7", S3Failure::kNone, ""}};
  S3Destination destination(bucket_.client(), "", "");
  const Delivery first = destination.deliver(stored_, 1);
  EXPECT_EQ(first.outcome, Delivery::Outcome::kRetry);
  EXPECT_EQ(first.retry_after, std::chrono::seconds(7));
  EXPECT_EQ(destination.deliver(stored_, 1).outcome, Delivery::Outcome::kSent);
  EXPECT_THAT(bucket_.urls, SizeIs(3));
}

TEST_F(S3DestinationTest, refused_keys_are_waited_for_and_a_link_is_not_followed) {
  bucket_.answers = {{403, "<Error><Code>SignatureDoesNotMatch</Code></Error>", "", S3Failure::kNone, ""}};
  S3Destination destination(bucket_.client(), "", "");
  const Delivery refused = destination.deliver(stored_, 1);
  EXPECT_EQ(refused.outcome, Delivery::Outcome::kRetry);
  EXPECT_EQ(refused.reason, DeliveryReason::kForbidden);
  ASSERT_EQ(::symlink("/etc/passwd", (directory_ / "a-link").c_str()), 0);
  const Delivery link = destination.deliver(stored_, 1);
  EXPECT_EQ(link.outcome, Delivery::Outcome::kRefused);
  EXPECT_EQ(link.reason, DeliveryReason::kUnreadable);
}

TEST(BucketReaderTest, folders_that_are_no_incidents_are_left_out) {
  const std::string day = "oom/prod/2026-11-21/";
  const auto incidents = incidents_of_objects(day, {{day + kId + "/report.md", 10},
                                                    {day + kId + "/incident.json", 5},
                                                    {day + "20261121T030406Z-00000001/report.md", 1},
                                                    {day + "notes.txt", 1},
                                                    {day + "../x/incident.json", 1},
                                                    {"elsewhere/" + std::string(kId) + "/incident.json", 1}});
  ASSERT_THAT(incidents, SizeIs(2));
  EXPECT_EQ(incidents[0].id, "20261121T030406Z-00000001");
  EXPECT_FALSE(incidents[0].is_whole);
  EXPECT_EQ(incidents[1].files, 2u);
  EXPECT_EQ(incidents[1].bytes, 15u);
  EXPECT_TRUE(incidents[1].is_whole);
}

TEST(BucketReaderTest, a_name_that_leads_elsewhere_is_not_written) {
  test::TemporaryDirectory directory;
  FakeBucket bucket;
  const std::string folder = std::string("oom/prod/2026-11-21/") + kId + "/";
  const auto object = [&](const std::string& name) { return "<Contents><Key>" + folder + name + "</Key></Contents>"; };
  bucket.answers = {{200,
                     "<ListBucketResult>" + object("../../evil") + object(".hidden") + object("incident.json") +
                         "</ListBucketResult>",
                     "", S3Failure::kNone, ""},
                    {200, "{}", "", S3Failure::kNone, ""}};
  BucketReader reader(bucket.client(), "oom", "prod");
  const auto pulled = reader.pull(kId, directory.path());
  ASSERT_TRUE(pulled.has_value()) << pulled.error().message;
  EXPECT_THAT(list_directory(*pulled, 10).value(), ElementsAre("incident.json"));
  EXPECT_EQ(read_file(*pulled + "/incident.json", 10).value(), "{}");
}

}  // namespace
}  // namespace oomw
