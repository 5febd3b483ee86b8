// SPDX-License-Identifier: Apache-2.0
#include "sinks/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using ::testing::ElementsAre;

HttpAnswer status(long code, Nanoseconds retry_after = {}) {
  HttpAnswer answer;
  answer.status = code;
  answer.retry_after = retry_after;
  return answer;
}

TEST(DeliveryOf, only_what_may_pass_is_tried_again) {
  for (const long code : {429, 502, 503, 504}) {
    EXPECT_EQ(delivery_of(status(code)).outcome, Delivery::Outcome::kRetry) << code;
  }
  for (const long code : {100, 301, 302, 400, 401, 403, 404, 413, 500, 501, 505, 999}) {
    EXPECT_EQ(delivery_of(status(code)).outcome, Delivery::Outcome::kRefused) << code;
  }
  for (const long code : {200, 202, 204}) {
    EXPECT_EQ(delivery_of(status(code)).outcome, Delivery::Outcome::kSent) << code;
  }
  HttpAnswer none;
  none.failure = DeliveryReason::kConnect;
  EXPECT_EQ(delivery_of(none).outcome, Delivery::Outcome::kRetry);
}

TEST(DeliveryOf, carries_retry_after_and_the_reason) {
  const Delivery delivery = delivery_of(status(429, std::chrono::seconds(7)));
  EXPECT_EQ(delivery.retry_after, std::chrono::seconds(7));
  EXPECT_EQ(delivery.reason, DeliveryReason::kRateLimited);
  EXPECT_EQ(delivery.detail, "HTTP status 429");
}

TEST(RetryAfter, is_seconds_or_a_date_and_bounded) {
  const WallTime now = *parse_rfc3339("2026-11-21T03:04:05Z");
  EXPECT_EQ(retry_after_of(" 12 ", now), std::chrono::seconds(12));
  EXPECT_EQ(retry_after_of("99999999", now), std::chrono::hours(1));
  EXPECT_EQ(retry_after_of("Sat, 21 Nov 2026 03:04:35 GMT", now), std::chrono::seconds(30));
  EXPECT_EQ(retry_after_of("Sat, 21 Nov 2020 03:04:35 GMT", now), Nanoseconds(0));
  EXPECT_EQ(retry_after_of("Fri, 01 Jan 6066 00:00:00 GMT", now), std::chrono::hours(1));
  EXPECT_EQ(retry_after_of("soon", now), Nanoseconds(0));
  EXPECT_EQ(retry_after_of("-5", now), Nanoseconds(0));
}

TEST(HttpUrl, has_a_scheme_and_a_host_and_no_password) {
  for (const char* url : {"http://c:4318", "https://c.example/x?y=1", "http://[::1]:4318/", "http://a/b@c"}) {
    EXPECT_TRUE(is_http_url(url)) << url;
  }
  for (const char* url :
       {"", "c:4318", "ftp://c", "http://", "http:///x", "http://a b", "http://u:p@c", "http://a\r\nb"}) {
    EXPECT_FALSE(is_http_url(url)) << url;
  }
}

TEST(HeaderLines, are_names_and_values) {
  EXPECT_THAT(*parse_header_lines("# token\nAuthorization: Bearer x\r\n\nX-Scope-OrgID: 7"),
              ElementsAre("Authorization: Bearer x", "X-Scope-OrgID: 7"));
  for (const char* text : {"novalue", ": x", "a b: c", "a: b\x01"}) {
    const auto lines = parse_header_lines(text);
    ASSERT_FALSE(lines.has_value()) << text;
    EXPECT_EQ(lines.error().message.find(text), std::string::npos);  // it may be a secret
  }
}

TEST(HttpClientTest, a_server_that_is_not_there_is_a_failure_to_connect) {
  HttpEndpoint endpoint;
  endpoint.url = "http://127.0.0.1:1/v1/logs";
  HttpClient client(endpoint, std::make_shared<std::atomic<bool>>(false));
  EXPECT_EQ(client.post({"x", "text/plain", true}).failure, DeliveryReason::kConnect);
}

TEST(HttpClientTest, a_file_of_headers_that_is_gone_may_come_back) {
  HttpEndpoint endpoint;
  endpoint.url = "http://127.0.0.1:1/";
  endpoint.headers_file = "/nonexistent/headers";
  HttpClient client(endpoint, std::make_shared<std::atomic<bool>>(false));
  const Delivery delivery = delivery_of(client.post({"x", "text/plain", false}));
  EXPECT_EQ(delivery.outcome, Delivery::Outcome::kRetry);
  EXPECT_EQ(delivery.reason, DeliveryReason::kSetup);
}

}  // namespace
}  // namespace oomw
