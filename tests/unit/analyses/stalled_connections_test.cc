// SPDX-License-Identifier: Apache-2.0
// Real sockets of this process, on loopback.
#include "analyses/stalled_connections.h"

#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "system/process_reader.h"
#include "unit/captures/child_process.h"
#include "unit/captures/loopback_server.h"

namespace oomw {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

std::vector<StalledPeer> stalled(pid_t pid = ::getpid()) {
  const auto process = TargetProcess::open("/proc", ProcessReader().key_of(pid).value_or(ProcessKey{pid, 0}));
  return process ? stalled_peers(*process) : std::vector<StalledPeer>{};
}

// What was seen first: a second look, a moment later, once found none.
std::vector<StalledPeer> eventually_stalled() {
  std::vector<StalledPeer> peers = stalled();
  for (int i = 0; i < 600 && peers.empty(); ++i) {
    std::this_thread::sleep_for(50ms);
    peers = stalled();
  }
  return peers;
}

// Accepts nobody: the kernel takes connections until `backlog` of them wait.
class Deaf {
 public:
  explicit Deaf(int backlog) : listener_(listen_on("127.0.0.1", 0)) { ::listen(listener_.get(), backlog); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(name().sin_port)); }
  // Not waited for.
  [[nodiscard]] UniqueFd connect() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in to = name();
    (void)::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    return fd;
  }
  // Until a first one waits, which the kernel may do later, it answers all of them.
  [[nodiscard]] std::vector<UniqueFd> connect_three_in_vain() const {
    std::vector<UniqueFd> clients;
    clients.push_back(connect());
    pollfd waiting{listener_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, 30'000), 1);
    while (clients.size() < 4) clients.push_back(connect());
    return clients;
  }

 private:
  [[nodiscard]] sockaddr_in name() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return address;
  }
  UniqueFd listener_;
};

TEST(StalledConnections, request_that_is_not_answered_is_one) {
  const Deaf full(0);
  const std::vector<UniqueFd> clients = full.connect_three_in_vain();
  const auto peers = eventually_stalled();
  ASSERT_THAT(peers, SizeIs(1));
  EXPECT_EQ(peers[0].address, full.address());
  EXPECT_EQ(peers[0].unanswered, 3U);
  EXPECT_EQ(peers[0].stuck, 0U);
}

TEST(StalledConnections, connection_whose_peer_takes_no_more_is_one) {
  const Deaf deaf(8);
  const UniqueFd client = deaf.connect();
  const std::string block(64 << 10, 'x');
  for (int i = 0; i < 20; ++i) {  // what fills both buffers is more than what one call takes
    while (::send(client.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
    std::this_thread::sleep_for(10ms);
  }
  const auto peers = eventually_stalled();
  ASSERT_THAT(peers, SizeIs(1));
  EXPECT_EQ(peers[0].address, deaf.address());
  EXPECT_EQ(peers[0].stuck, 1U);
  EXPECT_GT(peers[0].unacknowledged_bytes, 0U);
}

TEST(StalledConnections, connection_at_rest_is_none_and_other_processes_have_their_own) {
  const ChildProcess child;  // forked before the sockets
  const Deaf deaf(8), full(0);
  const UniqueFd resting = deaf.connect();
  EXPECT_THAT(stalled(), IsEmpty());
  const std::vector<UniqueFd> clients = full.connect_three_in_vain();
  ASSERT_THAT(eventually_stalled(), SizeIs(1));
  EXPECT_THAT(stalled(child.pid()), IsEmpty());
}

TEST(StalledConnections, failures_in_the_node_s_own_namespace_are_nobody_s) {
  const auto process = TargetProcess::open("/proc", ProcessKey{::getpid(), 0});
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(failed_connects(*process), 0U);
}

}  // namespace
}  // namespace oomw
