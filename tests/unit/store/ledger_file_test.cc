// SPDX-License-Identifier: Apache-2.0
#include "store/ledger_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using test::TemporaryDirectory;

class LedgerFileTest : public ::testing::Test {
 protected:
  std::string error_of(const std::string& text) {
    EXPECT_TRUE(write_file_atomic(directory_.path() + "/kills.json", text).has_value());
    const auto state = load_ledger(directory_.path());
    if (state) return "";
    EXPECT_EQ(state.error().code, ErrorCode::kInvalid);
    return state.error().message;
  }
  TemporaryDirectory directory_;
};

TEST_F(LedgerFileTest, load_when_saved_gives_the_same_counts) {
  LedgerState state;
  state.boot_id = "b-1";
  state.ledger.add({"shop", "cart-1", "cart", "container"}, 7);
  state.ledger.add({"", "", "nginx.service", "ancestor"}, 1);
  state.counted_by_cgroup = {{25214, 3}, {UINT64_MAX, 1}};
  ASSERT_TRUE(save_ledger(directory_.path() + "/new/data", state).has_value());
  const auto back = load_ledger(directory_.path() + "/new/data");
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->ledger.counts(), state.ledger.counts());
  EXPECT_EQ(back->boot_id, "b-1");
  EXPECT_EQ(back->counted_by_cgroup, state.counted_by_cgroup);
}

TEST_F(LedgerFileTest, what_the_ledger_had_no_room_for_comes_back) {
  LedgerState state;
  state.boot_id = "b-1";
  const MonotonicTime start{1};
  for (std::size_t i = 0; i <= KillLedger::kMaxSets; ++i) {
    state.ledger.add({"shop", std::to_string(i), "c", "container"}, 1, start);
  }
  state.ledger.add({"bank", "ledger", "c", "container"}, 1, start + std::chrono::minutes(30));
  ASSERT_TRUE(save_ledger(directory_.path(), state).has_value());
  const auto back = load_ledger(directory_.path());
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->ledger.counts(), state.ledger.counts());
  EXPECT_EQ(back->ledger.folded(), 1u);
  EXPECT_EQ(back->ledger.retired(), 1u);
  EXPECT_FALSE(back->ledger.may_show_zero({"shop", std::to_string(KillLedger::kMaxSets), "c", "container"}));
  EXPECT_FALSE(back->ledger.may_show_zero({"shop", "0", "c", "container"}));
  EXPECT_EQ(back->ledger.unseen({"shop", "1", "c", "container"}), std::chrono::minutes(30));
}

TEST_F(LedgerFileTest, what_was_heard_comes_back) {
  LedgerState state;
  state.boot_id = "b-1";
  state.heard = HeardUntil{{123}, {{7, {100}, true}, {8, {110}, false}}};
  ASSERT_TRUE(save_ledger(directory_.path(), state).has_value());
  const auto back = load_ledger(directory_.path());
  ASSERT_TRUE(back.has_value()) << back.error().message;
  ASSERT_TRUE(back->heard.has_value());
  EXPECT_EQ(back->heard->until.ns, 123);
  ASSERT_EQ(back->heard->kills.size(), 2u);
  EXPECT_EQ(back->heard->kills[1].pid, 8);
  EXPECT_EQ(back->heard->kills[1].time.ns, 110);
  EXPECT_TRUE(back->heard->kills[0].is_written);
  EXPECT_FALSE(back->heard->kills[1].is_written);
}

TEST_F(LedgerFileTest, an_older_version_s_file_says_nothing_of_what_was_heard) {
  ASSERT_TRUE(write_file_atomic(directory_.path() + "/kills.json", "{\"version\":1,\"boot_id\":\"x\"}").has_value());
  const auto back = load_ledger(directory_.path());
  ASSERT_TRUE(back.has_value());
  EXPECT_FALSE(back->heard.has_value());
}

TEST_F(LedgerFileTest, load_when_never_saved_is_not_found) {
  EXPECT_EQ(load_ledger(directory_.path()).error().code, ErrorCode::kNotFound);
}

TEST_F(LedgerFileTest, load_when_broken_names_the_file) {
  for (const char* text :
       {"", "{", "[]", "{\"version\":2,\"boot_id\":\"\"}", "{\"version\":1}",
        "{\"version\":1,\"boot_id\":\"x\",\"kills\":[{\"container\":\"c\"}]}",
        "{\"version\":1,\"boot_id\":\"x\",\"kills\":3}", "{\"version\":1,\"boot_id\":\"x\",\"heard\":{}}",
        "{\"version\":1,\"boot_id\":\"x\",\"heard\":{\"until_ns\":1,\"kills\":[{\"pid\":1}]}}",
        "{\"version\":1,\"boot_id\":\"x\",\"counted_by_cgroup\":{\"a\":1}}",
        "{\"version\":1,\"boot_id\":\"x\",\"counted_by_cgroup\":{\"1\":-1}}"}) {
    EXPECT_THAT(error_of(text), ::testing::HasSubstr("kills.json")) << text;
  }
}

TEST_F(LedgerFileTest, save_when_names_are_hostile_can_be_loaded) {
  LedgerState state;
  state.boot_id = "x";
  state.ledger.add({"\xff", "a\"b\n", std::string(255, 'x'), "container"}, 2);
  ASSERT_TRUE(save_ledger(directory_.path(), state).has_value());
  EXPECT_EQ(load_ledger(directory_.path())->ledger.counts().begin()->second, 2u);
}

}  // namespace
}  // namespace oomw
