// SPDX-License-Identifier: Apache-2.0
#include "analyses/pools_at_kill.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <oomwitness/pools.h>

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::uint64_t kPool = 16u << 10;

class PoolsAtKillTest : public testing::Test {
 protected:
  void add(std::uint64_t type, const std::string& name, std::uint64_t pools, std::uint64_t bytes) {
    oomw_pool_type record{};
    record.type = type;
    record.pools = pools;
    record.blocks = bytes / 48;
    record.bytes = bytes;
    std::memcpy(record.name, name.data(), std::min(name.size(), sizeof record.name));
    records_.resize(records_.size() + sizeof record);
    std::memcpy(records_.data() + records_.size() - sizeof record, &record, sizeof record);
    walk_.pools->read += pools;
    walk_.pools->used += pools;
    walk_.pools->bytes += bytes;
  }
  [[nodiscard]] HeapAnalysed event() const {
    return pools_at_kill(walk_, records_, {1, 2, kPool, {{0x5000, "dict"}, {0x6000, "list"}}});
  }
  [[nodiscard]] PoolsAtKill pools() const { return event().pools.at(0); }
  [[nodiscard]] std::string name() const { return pools().types.at(0).name; }

  HeapWalked walk_ = [] {
    HeapWalked walk;
    walk.time = {9};
    walk.started = {8};
    walk.process = {7, 6};
    walk.pools.emplace();
    return walk;
  }();
  std::vector<std::byte> records_;
};

TEST_F(PoolsAtKillTest, an_event_of_the_kill_has_the_types_most_bytes_first) {
  add(0x1000, "shop.Order", 25, 400'000);
  add(0, "", 0, 0);
  add(OOMW_POOL_KEY_TABLE, "", 50, 800'000);
  add(OOMW_POOL_UNTYPED, "", 25, 100'000);
  const HeapAnalysed made = event();
  EXPECT_EQ(to_string(made.trigger), "oom_kill");
  EXPECT_EQ(made.result, CaptureResult::kOk);
  EXPECT_EQ(made.process, (ProcessKey{7, 6}));
  EXPECT_EQ(to_string(made.of), "cpython");
  EXPECT_THAT(pools().types, ElementsAre(Field(&PoolsAtKill::Type::name, "key tables of dicts"),
                                         Field(&PoolsAtKill::Type::name, "shop.Order"),
                                         Field(&PoolsAtKill::Type::name, "memory without a type")));
  EXPECT_EQ(pools().bytes, 1'300'000u);
  EXPECT_EQ(pools().pools, 100u);
  EXPECT_EQ(pools().cut, "");
  EXPECT_EQ(pools().types[0].error_bytes, 10 * kPool) << "twice the root of 100 * 1/2 * 1/2";
}

TEST_F(PoolsAtKillTest, a_name_whose_page_is_gone_is_that_of_the_reading_for_its_address) {
  add(0x5000, "", 1, 480);
  EXPECT_EQ(name(), "dict");
}

TEST_F(PoolsAtKillTest, the_name_at_the_kill_comes_before_that_of_the_reading) {
  add(0x5000, "shop.Order", 1, 480);
  EXPECT_EQ(name(), "shop.Order");
}

TEST_F(PoolsAtKillTest, what_is_not_known_or_no_identifier_or_was_cut_is_unknown) {
  for (const std::string& forged :
       {std::string(), std::string("alice@example.com"), std::string("\xff\xfe"), std::string("a b"),
        std::string(OOMW_POOL_NAME_BYTES - 1, 'x'), std::string(OOMW_POOL_NAME_BYTES, 'x')}) {
    records_.clear();
    add(0x7000, forged, 1, 480);
    EXPECT_EQ(name(), "unknown") << forged;
  }
}

TEST_F(PoolsAtKillTest, types_of_one_name_are_one_row_and_rows_are_bounded) {
  for (std::uint64_t i = 0; i < 512; ++i) add(0x10000 + 64 * i, "T" + std::to_string(i / 2), 1, 480);
  EXPECT_THAT(pools().types, SizeIs(PoolsAtKill::kMaxTypes));
  EXPECT_EQ(pools().types[0].pools, 2u);
}

TEST_F(PoolsAtKillTest, what_was_not_read_is_said) {
  add(0x5000, "dict", 10, 4800);
  walk_.pools->used = 20;
  walk_.pools->malformed = 2;
  EXPECT_EQ(pools().cut, "malformed");
  walk_.pools->absent = 8;
  EXPECT_EQ(pools().cut, "absent");
  walk_.stop = WalkStop::kTimeLimit;
  EXPECT_EQ(pools().cut, "time_limit");
  EXPECT_EQ(pools().pools, 20u);
  EXPECT_EQ(pools().pools_read, 10u);
}

TEST_F(PoolsAtKillTest, no_pool_is_a_failure_with_its_reason) {
  walk_.stop = WalkStop::kFault;
  EXPECT_EQ(event().result, CaptureResult::kFailed);
  EXPECT_THAT(event().detail, HasSubstr("fault"));
}

TEST_F(PoolsAtKillTest, records_that_end_in_the_middle_are_dropped) {
  add(0x5000, "dict", 10, 4800);
  records_.resize(records_.size() - 1);
  EXPECT_THAT(pools().types, SizeIs(0));
}

}  // namespace
}  // namespace oomw
