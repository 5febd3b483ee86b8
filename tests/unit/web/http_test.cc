// SPDX-License-Identifier: Apache-2.0
#include "web/http.h"

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

TEST(ParseRequestHead, query_and_host_are_kept_apart) {
  const auto request = parse_request_head("GET /a?b=c%20d HTTP/1.1\r\nhOST:  node:9436 \r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->path, "/a");
  EXPECT_EQ(request->query, "b=c%20d");
  EXPECT_EQ(request->host, "node:9436");
  EXPECT_EQ(parse_request_head("GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n")->host, "");
}

TEST(QueryValue, escapes_are_decoded_and_malformed_ones_kept) {
  EXPECT_EQ(query_value("a=1&b=x%2Fy+z&b=2", "b"), "x/y z");
  EXPECT_EQ(query_value("a=%zz%4", "a"), "%zz%4");
  EXPECT_EQ(query_value("a", "a"), "");
  EXPECT_EQ(query_value("ab=1", "a"), "");
}

TEST(PathPattern, a_star_is_one_part_and_may_have_an_end) {
  EXPECT_TRUE(fits("/i/*", "/i/x"));
  EXPECT_FALSE(fits("/i/*", "/i/"));
  EXPECT_FALSE(fits("/i/*", "/i/x/y"));
  EXPECT_TRUE(fits("/i/*.tar.gz", "/i/x.tar.gz"));
  EXPECT_FALSE(fits("/i/*.tar.gz", "/i/.tar.gz"));
  EXPECT_EQ(parts_of("/i/*.tar.gz", "/i/a%20b.tar.gz"), std::vector<std::string>{"a b"});
  EXPECT_EQ(parts_of("/i/*/files/*", "/i/x/files/y"), (std::vector<std::string>{"x", "y"}));
}

TEST(IsLocalHost, names_of_other_sites_are_refused) {
  for (const char* good :
       {"localhost", "localhost:8080", "127.0.0.1:9436", "[::1]:9436", "[::1]", "10.0.0.7", "LOCALHOST"}) {
    EXPECT_TRUE(is_local_host(good)) << good;
  }
  for (const char* bad : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9436", "localhost:x",
                          "[::1", "[::1]x", "[evil]:1", "127.0.0.1:80:80"}) {
    EXPECT_FALSE(is_local_host(bad)) << bad;
  }
}

}  // namespace
}  // namespace oomw
