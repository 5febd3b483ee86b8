// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/api_target.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "kubernetes/api_error.h"
#include "kubernetes/quantity.h"
#include "kubernetes/token_file.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  };
}

Environment in_cluster() {
  return environment_of(
      {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}, {"NODE_NAME", "node-1"}});
}

std::string refusal(const KubernetesConfig& config, const Environment& environment) {
  const auto found = find_api(config, environment);
  EXPECT_FALSE(found.has_value());
  return found.has_value() ? "" : found.error().message;
}

TEST(FindApi, a_pod_of_the_cluster_needs_no_settings) {
  const auto found = find_api({}, in_cluster());
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->server, "https://10.96.0.1:443");
  EXPECT_EQ((*found)->node, "node-1");
}

TEST(FindApi, an_ipv6_service_is_put_in_brackets) {
  const auto found = find_api({}, environment_of({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"NODE_NAME", "n"}}));
  EXPECT_EQ((*found)->server, "https://[fd00::1]:443");
}

TEST(FindApi, outside_a_cluster_nobody_is_asked) {
  const auto found = find_api({}, environment_of({}));
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->has_value());
}

TEST(FindApi, off_is_off_in_a_cluster_too) {
  KubernetesConfig config;
  config.mode = KubernetesMode::kOff;
  EXPECT_FALSE(find_api(config, in_cluster())->has_value());
}

TEST(FindApi, on_without_an_address_says_what_is_missing) {
  KubernetesConfig config;
  config.mode = KubernetesMode::kOn;
  EXPECT_THAT(refusal(config, environment_of({})), HasSubstr("KUBERNETES_SERVICE_HOST"));
}

TEST(FindApi, without_a_nodes_name_the_whole_cluster_is_not_listed) {
  EXPECT_THAT(refusal({}, environment_of({{"KUBERNETES_SERVICE_HOST", "h"}})), HasSubstr("NODE_NAME"));
}

TEST(NodeName, is_what_is_configured_or_the_pod_s_and_else_there_is_the_machine_s) {
  KubernetesConfig config;
  EXPECT_EQ(node_name(config, environment_of({})), "");
  EXPECT_EQ(node_name(config, environment_of({{"NODE_NAME", "n1"}})), "n1");
  config.node_name = "n2";
  EXPECT_EQ(node_name(config, environment_of({{"NODE_NAME", "n1"}})), "n2");
  EXPECT_THAT(host_name(), Not(IsEmpty()));
}

TEST(FindApi, only_https_and_only_a_host_are_taken) {
  for (const char* server : {"http://h:1", "https://", "https://h/path", "https://user@h", "file:///etc/passwd"}) {
    KubernetesConfig config;
    config.api_server = server;
    EXPECT_THAT(refusal(config, in_cluster()), HasSubstr("not https://HOST:PORT")) << server;
  }
}

TEST(FindApi, a_node_named_like_a_query_is_refused) {
  KubernetesConfig config;
  config.node_name = "a&watch=1";
  EXPECT_THAT(refusal(config, in_cluster()), HasSubstr("not the name of a node"));
}

TEST(Quantity, is_read_in_each_of_its_notations) {
  EXPECT_EQ(parse_quantity("512Mi"), 512u << 20);
  EXPECT_EQ(parse_quantity("1.5Gi"), 1536u << 20);
  EXPECT_EQ(parse_quantity("128974848"), 128'974'848u);
  EXPECT_EQ(parse_quantity("129e6"), 129'000'000u);
  EXPECT_EQ(parse_quantity("129M"), 129'000'000u);
  EXPECT_EQ(parse_quantity("128974848000m"), 128'974'848u);
  EXPECT_EQ(parse_quantity("1E"), 1'000'000'000'000'000'000u);
}

TEST(Quantity, what_is_none_is_unknown) {
  for (const char* text : {"", "Mi", "-1", "1X", "inf", "nan", "1e999", "100Ei", "1 Mi", "0x10"}) {
    EXPECT_EQ(parse_quantity(text), std::nullopt) << text;
  }
}

TEST(RetryAfter, seconds_are_read_and_bounded) {
  EXPECT_EQ(parse_retry_after(" 7\r\n"), std::chrono::seconds(7));
  EXPECT_EQ(parse_retry_after("999999999"), std::chrono::hours(1));
  EXPECT_EQ(parse_retry_after("Fri, 31 Dec 1999 23:59:59 GMT"), Nanoseconds(0));
}

TEST(ApiError, every_one_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (int i = 0; i < kApiErrors; ++i) names.insert(to_string(static_cast<ApiError>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kApiErrors));
  EXPECT_EQ(to_string(ApiError::kTls), "tls");
  EXPECT_EQ(to_string(ApiError::kTooLarge), "too_large");
  EXPECT_EQ(error_of_status(200), ApiError::kNone);
  EXPECT_EQ(error_of_status(302), ApiError::kRedirect);
  EXPECT_EQ(error_of_status(503), ApiError::kServer);
  EXPECT_EQ(error_of_status(418), ApiError::kHttp);
}

class TokenFileTest : public testing::Test {
 protected:
  void write(const std::string& text) { ASSERT_TRUE(write_file_atomic(path_, text).has_value()); }
  const test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "token";
  static constexpr MonotonicTime kNow{1'000'000'000'000};
};

TEST_F(TokenFileTest, an_exchanged_token_is_seen_within_a_minute) {
  TokenFile token(path_);
  write("one\n");
  EXPECT_EQ(token.get(kNow).value_or(""), "one");
  write("two\n");
  EXPECT_EQ(token.get(kNow + std::chrono::seconds(59)).value_or(""), "one");
  EXPECT_EQ(token.get(kNow + std::chrono::seconds(60)).value_or(""), "two");
}

TEST_F(TokenFileTest, a_refused_one_is_read_again_at_once) {
  TokenFile token(path_);
  write("one");
  (void)token.get(kNow);
  write("two");
  token.forget();
  EXPECT_EQ(token.get(kNow).value_or(""), "two");
}

TEST_F(TokenFileTest, one_that_would_be_a_header_of_its_own_is_refused) {
  TokenFile token(path_);
  for (const char* text : {"", " \n", "a\r\nX-Evil: 1", "a b"}) {
    write(text);
    EXPECT_FALSE(token.get(kNow).has_value()) << text;
  }
}

}  // namespace
}  // namespace oomw
