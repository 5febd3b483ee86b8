// SPDX-License-Identifier: Apache-2.0
#include "web/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::AnyOf;

TEST(ListenAddress, address_and_port) {
  const auto v4 = parse_listen_address("127.0.0.1:9435");
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 9435);
  EXPECT_EQ(parse_listen_address("[::1]:80")->host, "::1");
  EXPECT_EQ(parse_listen_address("localhost:0")->host, "127.0.0.1");
}

TEST(ListenAddress, port_alone_means_all_addresses) {
  EXPECT_THAT(parse_listen_address(":9435")->host, AnyOf("::", "0.0.0.0"));
}

TEST(ListenAddress, anything_else_is_invalid) {
  for (const char* text : {"", "9435", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]",
                           "[127.0.0.1]:80", "example.org:80", "1.2.3:80", "[::1:80", " 127.0.0.1:80"}) {
    const auto parsed = parse_listen_address(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid) << text;
  }
}

}  // namespace
}  // namespace oomw
