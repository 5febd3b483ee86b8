// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/s3/credential_cache.h"
#include "sinks/s3/credential_source.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr WallTime kNow{1'800'000'000'000'000'000};
constexpr std::int64_t kMinute = 60'000'000'000;

AwsEnvironment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

Result<CredentialPlan> plan_of(std::map<std::string, std::string> values, const std::string& file = "") {
  return plan_credentials({file, "", "eu-west-1"}, environment_of(std::move(values)));
}

std::string sts_answer(const std::string& key, WallTime expires) {
  return "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>" + key +
         "</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>" +
         to_rfc3339(expires) +
         "</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
}

std::string write_temporary(const std::string& name, const std::string& text) {
  static const test::TemporaryDirectory directory;  // of this process: others run beside it
  const std::string path = directory / name;
  std::ofstream(path) << text;
  return path;
}

TEST(PlanCredentials, the_configured_file_then_the_environment_then_a_role_then_the_endpoint) {
  std::map<std::string, std::string> all = {{"AWS_ACCESS_KEY_ID", "k"},
                                            {"AWS_SECRET_ACCESS_KEY", "s"},
                                            {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
                                            {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
                                            {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/c"}};
  EXPECT_EQ(plan_of(all, "/keys")->kind, CredentialKind::kFile);
  EXPECT_EQ(plan_of(all)->kind, CredentialKind::kStatic);
  all.erase("AWS_ACCESS_KEY_ID");
  EXPECT_EQ(plan_of(all)->kind, CredentialKind::kWebIdentity);
  EXPECT_EQ(plan_of(all)->sts_url, "https://sts.eu-west-1.amazonaws.com/");
  all.erase("AWS_ROLE_ARN");
  EXPECT_EQ(plan_of(all)->kind, CredentialKind::kEndpoint);
  all.clear();
  EXPECT_EQ(plan_of(all)->kind, CredentialKind::kNone);
  all["AWS_SHARED_CREDENTIALS_FILE"] = "/keys";
  EXPECT_EQ(plan_of(all)->kind, CredentialKind::kFile);
}

TEST(PlanCredentials, a_token_is_not_sent_over_plain_http_to_another_host) {
  const auto with_endpoint = [](const std::string& url) {
    return plan_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}}).has_value();
  };
  EXPECT_TRUE(with_endpoint("http://169.254.170.23/v1/credentials"));
  EXPECT_TRUE(with_endpoint("http://[fd00:ec2::23]/v1/credentials"));
  EXPECT_TRUE(with_endpoint("http://127.0.0.1:8080/x"));
  EXPECT_TRUE(with_endpoint("https://issuer.example/x"));
  EXPECT_FALSE(with_endpoint("http://issuer.example/x"));
  EXPECT_FALSE(with_endpoint("http://127.0.0.1@issuer.example/x"));
  EXPECT_FALSE(with_endpoint("file:///etc/passwd"));
  EXPECT_FALSE(plan_of(
      {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}, {"AWS_ROLE_ARN", "r"}, {"AWS_ENDPOINT_URL_STS", "http://sts.example/"}}));
}

TEST(ParseCredentialsFile, the_profiles_own_section_is_read) {
  const std::string text =
      "# comment\n[default]\naws_access_key_id = AKIA1\naws_secret_access_key=s1=\n"
      "[ other ]\naws_access_key_id=AKIA2\naws_secret_access_key=s2\naws_session_token=t2\n";
  EXPECT_EQ(parse_credentials_file(text, "default")->credentials.access_key_id, "AKIA1");
  EXPECT_EQ(parse_credentials_file(text, "default")->credentials.secret_access_key, "s1=");
  EXPECT_EQ(parse_credentials_file(text, "other")->credentials.session_token, "t2");
  EXPECT_FALSE(parse_credentials_file(text, "absent").has_value());
  EXPECT_FALSE(parse_credentials_file("[default]\naws_access_key_id=k\n", "default").has_value());
}

TEST(ParseCredentials, what_would_break_a_header_is_refused) {
  EXPECT_FALSE(parse_credentials_file("[default]\naws_access_key_id=a b\naws_secret_access_key=s\n", "default"));
  EXPECT_FALSE(parse_endpoint_answer(R"({"AccessKeyId":"a\r\nX: y","SecretAccessKey":"s"})").has_value());
  EXPECT_FALSE(parse_endpoint_answer("[1]").has_value());
}

TEST(ParseStsAnswer, keys_token_and_time_are_read) {
  const auto timed = parse_sts_answer(sts_answer("ASIA1", kNow));
  ASSERT_TRUE(timed.has_value()) << timed.error().message;
  EXPECT_EQ(timed->credentials.access_key_id, "ASIA1");
  EXPECT_EQ(timed->credentials.session_token, "token");
  EXPECT_EQ(timed->expires, kNow);
}

TEST(StsRequestBody, everything_is_encoded) {
  CredentialPlan plan;
  plan.role_arn = "arn:aws:iam::1:role/r&x";
  plan.session_name = "n";
  EXPECT_EQ(sts_request_body(plan, "a.b+c"),
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr%26x"
            "&RoleSessionName=n&WebIdentityToken=a.b%2Bc");
}

struct FakeServer {
  std::vector<S3Call> calls;
  S3Answer answer;
  S3Perform perform() {
    return [this](const S3Call& call) {
      calls.push_back(call);
      return answer;
    };
  }
};

CredentialPlan role_plan() {
  CredentialPlan plan;
  plan.kind = CredentialKind::kWebIdentity;
  plan.token_file = write_temporary("web-token", "jwt\n");
  plan.role_arn = "r";
  plan.session_name = "n";
  plan.sts_url = "https://sts.example/";
  return plan;
}

TEST(CredentialCache, a_role_is_assumed_once_until_five_minutes_before_its_end) {
  FakeServer sts;
  sts.answer = {200, sts_answer("ASIA1", {kNow.ns + 60 * kMinute}), "", S3Failure::kNone, ""};
  CredentialCache cache(role_plan(), sts.perform(), "");
  EXPECT_EQ(cache.get(kNow)->access_key_id, "ASIA1");
  EXPECT_EQ(cache.get({kNow.ns + 54 * kMinute})->access_key_id, "ASIA1");
  EXPECT_EQ(sts.calls.size(), 1u);
  EXPECT_THAT(sts.calls[0].body, HasSubstr("&WebIdentityToken=jwt"));
  sts.answer.body = sts_answer("ASIA2", {kNow.ns + 120 * kMinute});
  EXPECT_EQ(cache.get({kNow.ns + 56 * kMinute})->access_key_id, "ASIA2");
}

TEST(CredentialCache, after_a_refusal_they_are_fetched_anew) {
  FakeServer sts;
  sts.answer = {200, sts_answer("ASIA1", {kNow.ns + 60 * kMinute}), "", S3Failure::kNone, ""};
  CredentialCache cache(role_plan(), sts.perform(), "");
  ASSERT_TRUE(cache.get(kNow).has_value());
  cache.forget();
  ASSERT_TRUE(cache.get(kNow).has_value());
  EXPECT_EQ(sts.calls.size(), 2u);
}

TEST(CredentialCache, a_refused_role_is_named_without_the_token) {
  FakeServer sts;
  sts.answer = {403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>jwt</Message></Error></ErrorResponse>",
                "", S3Failure::kNone, ""};
  CredentialCache cache(role_plan(), sts.perform(), "");
  const auto keys = cache.get(kNow);
  ASSERT_FALSE(keys.has_value());
  EXPECT_EQ(keys.error().code, ErrorCode::kPermission);
  EXPECT_EQ(keys.error().message, "assuming the role: HTTP status 403 AccessDenied");
}

TEST(CredentialCache, the_pods_token_is_read_from_its_file_for_each_fetch) {
  FakeServer agent;
  agent.answer = {200,
                  R"({"AccessKeyId":"ASIA3","SecretAccessKey":"s","Token":"t","Expiration":"2027-01-15T09:00:00Z"})",
                  "", S3Failure::kNone, ""};
  CredentialPlan plan;
  plan.kind = CredentialKind::kEndpoint;
  plan.endpoint_url = "http://169.254.170.23/v1/credentials";
  plan.token_file = write_temporary("pod-token", "first");
  CredentialCache cache(plan, agent.perform(), "");
  EXPECT_EQ(cache.get(kNow)->session_token, "t");
  EXPECT_THAT(agent.calls.back().headers, Contains(Pair("Authorization", "first")));
  write_temporary("pod-token", "second");
  cache.forget();
  ASSERT_TRUE(cache.get(kNow).has_value());
  EXPECT_THAT(agent.calls.back().headers, Contains(Pair("Authorization", "second")));
}

TEST(CredentialCache, a_file_that_is_replaced_is_read_again_within_a_minute) {
  CredentialPlan plan;
  plan.kind = CredentialKind::kFile;
  plan.profile = "default";
  plan.file = write_temporary("keys", "[default]\naws_access_key_id=A\naws_secret_access_key=s\n");
  CredentialCache cache(plan, nullptr, "");
  EXPECT_EQ(cache.get(kNow)->access_key_id, "A");
  write_temporary("keys", "[default]\naws_access_key_id=B\naws_secret_access_key=s\n");
  EXPECT_EQ(cache.get({kNow.ns + kMinute / 2})->access_key_id, "A");
  EXPECT_EQ(cache.get({kNow.ns + kMinute})->access_key_id, "B");
}

TEST(CredentialCache, without_any_the_error_names_what_to_set) {
  CredentialCache cache({}, nullptr, "");
  EXPECT_THAT(cache.get(kNow).error().message, HasSubstr("sinks.s3.credentials_file"));
}

}  // namespace
}  // namespace oomw
