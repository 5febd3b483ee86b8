// SPDX-License-Identifier: Apache-2.0
#include "web/peer_limits.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include <gtest/gtest.h>

namespace oomw {
namespace {

using State = ConnectionState;

std::vector<PeerLimits::Connection> of_peer(const std::string& peer, std::size_t count, std::uint64_t first_id,
                                            State state = State::kReadingHead) {
  std::vector<PeerLimits::Connection> connections;
  for (std::size_t i = 0; i < count; ++i) connections.push_back({first_id + i, peer, state});
  return connections;
}

std::string peer6(const char* text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof(address));
  return peer_of(storage);
}

TEST(PeerLimits, below_both_limits_there_is_room) {
  EXPECT_EQ(PeerLimits::victim(of_peer("a", PeerLimits::kMaxPerPeer - 1, 1), "a"), std::nullopt);
  EXPECT_EQ(PeerLimits::victim(of_peer("a", PeerLimits::kMaxPerPeer, 1), "b"), std::nullopt);
}

TEST(PeerLimits, a_full_peer_loses_its_own_oldest) {
  auto all = of_peer("b", 1, 1);
  for (const auto& connection : of_peer("a", PeerLimits::kMaxPerPeer, 2)) all.push_back(connection);
  EXPECT_EQ(PeerLimits::victim(all, "a"), 2);
}

TEST(PeerLimits, an_idle_connection_goes_before_an_older_one_at_work) {
  auto all = of_peer("a", 3, 1, State::kQueued);
  for (const auto& connection : of_peer("a", PeerLimits::kMaxPerPeer - 3, 10)) all.push_back(connection);
  EXPECT_EQ(PeerLimits::victim(all, "a"), 10);
}

TEST(PeerLimits, at_the_whole_limit_the_peer_with_most_connections_pays) {
  std::vector<PeerLimits::Connection> all;
  for (std::uint64_t i = 0; i + 8 < PeerLimits::kMaxConnections; ++i)
    all.push_back({i + 1, "p" + std::to_string(i), {}});
  for (const auto& connection : of_peer("greedy", 8, 100)) all.push_back(connection);
  EXPECT_EQ(PeerLimits::victim(all, "newcomer"), 100);
}

TEST(PeerOf, a_network_of_ipv6_is_one_peer_and_mapped_ipv4_addresses_are_many) {
  EXPECT_EQ(peer6("2001:db8:1:2::1"), peer6("2001:db8:1:2:ffff::9"));
  EXPECT_NE(peer6("2001:db8:1:2::1"), peer6("2001:db8:1:3::1"));
  EXPECT_NE(peer6("::ffff:10.0.0.1"), peer6("::ffff:10.0.0.2"));
}

}  // namespace
}  // namespace oomw
