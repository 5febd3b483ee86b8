// SPDX-License-Identifier: Apache-2.0
#include "web/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(ParseRequestHead, a_request_without_its_query) {
  const auto request = parse_request_head("GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_FALSE(request->accepts_gzip);
}

TEST(ParseRequestHead, what_is_not_http_1_is_refused) {
  for (const char* head : {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9\r\n\r\n",
                           "GET  / HTTP/1.1\r\n\r\n", "GET metrics HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n", ""}) {
    EXPECT_FALSE(parse_request_head(head)) << head;
  }
}

TEST(ParseRequestHead, gzip_is_taken_when_it_is_one_of_the_offers) {
  const auto offers = [](const std::string& value) {
    return parse_request_head("GET / HTTP/1.1\r\nACCEPT-encoding:" + value + "\r\n\r\n")->accepts_gzip;
  };
  EXPECT_TRUE(offers("gzip"));
  EXPECT_TRUE(offers(" br;q=1.0 , GZIP;q=0.5"));
  EXPECT_FALSE(offers("gzip;q=0"));
  EXPECT_FALSE(offers("gzip;q=0.000"));
  EXPECT_FALSE(offers("br, x-gzip"));
}

}  // namespace
}  // namespace oomw
