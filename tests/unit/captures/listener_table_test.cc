// SPDX-License-Identifier: Apache-2.0
#include "captures/listener_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using ::testing::ElementsAre;

// From a Debian 12 machine, trimmed to two listeners and one connection.
constexpr const char* kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:06F1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51423 1 "
    "0000000000000000 100 0 0 10 0\n"
    "   1: 00000000:17AC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 51424 1 "
    "0000000000000000 100 0 0 10 0\n"
    "   2: 0100007F:06F1 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 51500 1 "
    "0000000000000000 20 4 30 10 -1\n";
constexpr const char* kTcp6 =
    "  sl  local_address                         remote_address                        st tx_queue rx_queue tr "
    "tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000000000000000000000000000:06F1 00000000000000000000000000000000:0000 0A 00000000:00000000 "
    "00:00000000 00000000     0        0 61 1 0000000000000000 100 0 0 10 0\n"
    "   1: 00000000000000000000000001000000:06F2 00000000000000000000000000000000:0000 0A 00000000:00000000 "
    "00:00000000 00000000     0        0 62 1 0000000000000000 100 0 0 10 0\n"
    "   2: 0000000000000000FFFF00000100007F:06F3 00000000000000000000000000000000:0000 0A 00000000:00000000 "
    "00:00000000 00000000     0        0 63 1 0000000000000000 100 0 0 10 0\n";

ListeningSocket listener(const char* address, bool is_wildcard, IpFamily family = IpFamily::kV4) {
  return {address, is_wildcard, family, 1777, 1};
}

TEST(Listeners, only_listening_rows_are_taken) {
  const auto rows = parse_listeners(kTcp, IpFamily::kV4);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].address, "127.0.0.1");
  EXPECT_EQ(rows[0].port, 1777);
  EXPECT_EQ(rows[0].inode, 51423u);
  EXPECT_FALSE(rows[0].is_wildcard);
  EXPECT_EQ(rows[1].port, 6060);
  EXPECT_TRUE(rows[1].is_wildcard);
}

TEST(Listeners, v6_addresses_are_read_and_mapped_ones_become_v4) {
  const auto rows = parse_listeners(kTcp6, IpFamily::kV6);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].is_wildcard);
  EXPECT_EQ(rows[1].address, "::1");
  EXPECT_EQ(rows[2].address, "127.0.0.1");
  EXPECT_EQ(rows[2].family, IpFamily::kV4);
}

TEST(Listeners, rows_of_all_sockets_have_their_peer_and_what_it_does_not_take) {
  std::vector<TcpSocket> rows;
  for_each_socket(
      "   3: 0100007F:A1B2 0700000A:10DD 02 00000001:00000000 01:00000064 00000003  1000        0 51424 2 0 100\n"
      "   4: 0100007F:A1B3 0700000A:10DD 01 0002A000:00000000 04:00000064 00000000  1000        5 51425 2 0 200 20\n"
      "   5: 0100007F:A1B4 0700000A:10DD 01 003ECC00:00000000 04:0000009D 00000000  1000        0 51426 2 0 20 0 0 16\n"
      "   6: 0100007F:A1B5 0700000A:10DD 01 003ECC00:00000000 04:00000014 00000000  1000        0 51427 2 0 20 0 0 16\n"
      "   7: 0100007F:A1B6 0700000A:10DD 01 003ECC00:00000000 01:0000009D 00000000  1000        0 51428 2 0 20 0 0 16\n"
      "   8: 0100007F:A1B7 0700000A:10DD 01 003ECC00:00000000 04:0000009D 00000000  1000        0 51429 2 0\n",
      IpFamily::kV4, [&](const TcpSocket& socket) { rows.push_back(socket); });
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].state, TcpState::kSynSent);
  EXPECT_EQ(rows[0].peer_address, "10.0.0.7");
  EXPECT_EQ(rows[0].peer_port, 4317);
  EXPECT_EQ(rows[0].retransmits, 3u);
  EXPECT_EQ(rows[0].local.inode, 51424u);
  EXPECT_EQ(rows[1].state, TcpState::kEstablished);
  EXPECT_EQ(rows[1].unacknowledged_bytes, 0x2a000u);
  EXPECT_FALSE(rows[0].is_refused_room);
  EXPECT_TRUE(rows[1].is_refused_room);   // a probe has no answer
  EXPECT_TRUE(rows[2].is_refused_room);   // the next one comes later than the first did
  EXPECT_FALSE(rows[3].is_refused_room);  // none was sent yet
  EXPECT_FALSE(rows[4].is_refused_room);  // waits for an acknowledgement
  EXPECT_FALSE(rows[5].is_refused_room);  // cut
}

TEST(Listeners, malformed_rows_are_skipped) {
  EXPECT_TRUE(parse_listeners("", IpFamily::kV4).empty());
  EXPECT_TRUE(parse_listeners("\n\n 0: ZZ:1 x 0A 1 2 3 4 5 6\n", IpFamily::kV4).empty());
  EXPECT_TRUE(parse_listeners(" 0: 0100007F:FFFFF 0:0 0A a b c 0 0 5\n", IpFamily::kV4).empty());
  EXPECT_TRUE(parse_listeners(" 0: 0100007F:06F1 0:0 0A a b c 0 0 0\n", IpFamily::kV4).empty());
  EXPECT_TRUE(parse_listeners(kTcp, IpFamily::kV6).empty());
}

TEST(Listeners, a_cut_last_row_is_skipped) {
  const std::string cut = std::string(kTcp).substr(0, std::string(kTcp).find("51424") - 3);
  EXPECT_EQ(parse_listeners(cut, IpFamily::kV4).size(), 1u);
}

TEST(Listeners, there_is_a_bound) {
  const std::string row = " 0: 0100007F:06F1 00000000:0000 0A a b c 0 0 5\n";
  std::string table;
  for (std::size_t i = 0; i < kMaxListeners + 10; ++i) table += row;
  EXPECT_EQ(parse_listeners(table, IpFamily::kV4).size(), kMaxListeners);
}

TEST(ConnectAddresses, wildcards_are_reached_on_loopback) {
  EXPECT_THAT(connect_addresses(listener("10.0.0.7", false)), ElementsAre("10.0.0.7"));
  EXPECT_THAT(connect_addresses(listener("0.0.0.0", true)), ElementsAre("127.0.0.1"));
  EXPECT_THAT(connect_addresses(listener("::", true, IpFamily::kV6)), ElementsAre("127.0.0.1", "::1"));
}

TEST(CouldAnswer, a_more_specific_bind_of_another_wins_over_a_wildcard) {
  const auto wildcard = listener("0.0.0.0", true);
  const auto specific = listener("127.0.0.1", false);
  EXPECT_TRUE(could_answer(specific, wildcard, "127.0.0.1"));
  EXPECT_FALSE(could_answer(wildcard, specific, "127.0.0.1"));
  EXPECT_TRUE(could_answer(specific, specific, "127.0.0.1"));  // SO_REUSEPORT
  EXPECT_TRUE(could_answer(wildcard, wildcard, "127.0.0.1"));
}

TEST(CouldAnswer, another_address_or_port_does_not_matter) {
  auto other = listener("127.0.0.1", false);
  EXPECT_FALSE(could_answer(other, listener("::", true, IpFamily::kV6), "::1"));
  other.port = 6060;
  EXPECT_FALSE(could_answer(other, listener("0.0.0.0", true), "127.0.0.1"));
}

}  // namespace
}  // namespace oomw
