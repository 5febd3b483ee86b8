// SPDX-License-Identifier: Apache-2.0
#include "web/site/daemon_link.h"

#include <sys/socket.h>

#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::milliseconds;

// The test is the daemon, and decides when it answers.
class DaemonLinkTest : public testing::Test {
 protected:
  DaemonLinkTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    daemon = UniqueFd(ends[0]);
    link.emplace(UniqueFd(ends[1]), milliseconds(20));
  }

  void answer(const std::string& text) {
    EXPECT_TRUE(answer_one(daemon.get(), [&text](LiveQuestion) { return text; }));
  }

  [[nodiscard]] bool is_asked() const {
    char letter;
    return ::recv(daemon.get(), &letter, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }

  UniqueFd daemon;
  std::optional<DaemonLink> link;
};

TEST_F(DaemonLinkTest, a_late_answer_is_not_taken_for_that_to_the_next_question) {
  ASSERT_FALSE(link->ask(LiveQuestion::kNow));
  answer("late");
  const auto second = link->ask(LiveQuestion::kHealth);
  EXPECT_FALSE(second);
  answer("late as well");
  // Both have come before this question, so what comes next belongs to it: here nothing does.
  EXPECT_FALSE(link->ask(LiveQuestion::kNow));
}

TEST_F(DaemonLinkTest, a_daemon_that_answers_again_is_heard) {
  ASSERT_FALSE(link->ask(LiveQuestion::kNow));
  answer("late");
  std::atomic<bool> is_over = false;
  std::thread answering([this, &is_over] {
    for (; !is_over; std::this_thread::yield()) {
      if (is_asked()) answer("in time");
    }
  });
  Result<std::string> heard;
  for (int tries = 0; tries < 1'000; ++tries) {
    heard = link->ask(LiveQuestion::kHealth);
    if (heard) break;
  }
  is_over = true;
  answering.join();
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(*heard, "in time");
}

TEST_F(DaemonLinkTest, a_daemon_that_owes_answers_is_not_asked_for_ever) {
  for (int i = 0; i < DaemonLink::kMaxOwed; ++i) ASSERT_FALSE(link->ask(LiveQuestion::kNow));
  for (int i = 0; i < DaemonLink::kMaxOwed; ++i) answer("late");
  EXPECT_FALSE(is_asked());
  for (int i = 0; i < DaemonLink::kMaxOwed + 3; ++i) ASSERT_FALSE(link->ask(LiveQuestion::kNow));
  int asked = 0;
  for (; is_asked(); ++asked) answer("late");
  EXPECT_EQ(asked, DaemonLink::kMaxOwed);
}

}  // namespace
}  // namespace oomw
