// SPDX-License-Identifier: Apache-2.0
// What only a process that lives can show: cpython_contents_test.cc has the rest.
#include "runtimes/cpython/cpython_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>

#include <gmock/gmock.h>

#include "base/unique_fd.h"
#include "memory/cached_reader.h"
#include "memory/fresh_memory.h"
#include "runtimes/cpython/pools.h"
#include "support/process_space.h"
#include "support/python_interpreter.h"
#include "unit/runtimes/cpython/python_program.h"

namespace oomw::cpython {
namespace {

using testing::Not;

class LivingPython : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path = test::python_interpreter(GetParam());
    if (path.empty()) GTEST_SKIP() << "no Python " << GetParam() << " here";
    python_.emplace(path);
    ASSERT_TRUE(python_->is_ready());
  }
  [[nodiscard]] Result<MemoryContents> read() const {
    const test::ProcessSpace process(python_->pid(), kFiles);
    return read_contents(process.space(), process.space());
  }
  std::optional<Python> python_;
};
INSTANTIATE_TEST_SUITE_P(System, LivingPython, testing::Values("3"), kName);
INSTANTIATE_TEST_SUITE_P(Matrix, LivingPython, testing::Values("3.9", "3.10", "3.12", "3.13", "3.14"), kName);

TEST_P(LivingPython, a_reading_touches_no_page_of_the_process) {
  const std::string before = python_->file("statm");
  ASSERT_TRUE(read().has_value());
  EXPECT_EQ(python_->file("statm"), before);
}

TEST_P(LivingPython, a_list_that_moved_after_the_picture_of_the_memory_was_made_is_named) {
  const test::ProcessSpace process(python_->pid(), kFiles);
  const auto before = read_contents(process.space(), process.space());
  ASSERT_TRUE(before.has_value()) << before.error().message;
  ASSERT_NE(holder(*before, "`REQUEST_LOG` in module `app`"), nullptr);
  python_->grow();
  const std::string path = "/proc/" + std::to_string(python_->pid());
  const UniqueFd memory(::open((path + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd page_map(::open((path + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  const test::MemoryFile bytes(memory.get());
  const FdSource entries(page_map.get());
  const auto contents = read_contents(process.space(), FreshMemory(process.space(), bytes, entries));
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  const ContentFiller* log = holder(*contents, "`REQUEST_LOG` in module `app`");
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->count, 330'000u);
  // Most of its rows lie in memory that was mapped after the picture; as large as the others, up to all that is in it.
  EXPECT_GT(log->bytes, 2 * holder(*before, "`REQUEST_LOG` in module `app`")->bytes);
}

// Pools by the interpreter's table of arenas, as the kernel finds them at a kill, without looking at the memory map.
std::uint64_t pools_in_use(const AddressSpace& space, const PoolTable& table) {
  CachedReader reader(space, 64u << 20, 4096);
  const auto entries = reader.get<std::uint64_t>(table.arenas);
  std::uint64_t pools = 0;
  for (std::uint64_t i = 0; i < 4096 && entries.has_value(); ++i) {
    const auto entry = reader.get<std::array<std::uint64_t, 3>>(*entries + 48 * i);
    if (!entry.has_value()) break;
    const std::uint64_t free = (*entry)[2] & 0xffffffff, all = (*entry)[2] >> 32;
    if ((*entry)[0] == 0 || (*entry)[0] % 4096 != 0 || all > 64 || free >= all) continue;
    const std::uint64_t first = ((*entry)[0] + table.pool_bytes - 1) / table.pool_bytes * table.pool_bytes;
    // Behind the table's end may be what it was before it grew.
    if (reader.get<std::uint32_t>(first + 32).value_or(~0U) == i) pools += all - free;
  }
  return pools;
}

std::uint64_t pools_found(const AddressSpace& space) {
  const auto regions = PoolRegions::find(space);
  std::uint64_t pools = 0;
  for (const PageRange& range : regions.value().ranges()) {
    const std::uint64_t bytes = regions->pool_bytes();
    for (std::uint64_t at = (range.begin + bytes - 1) / bytes * bytes; at + bytes <= range.end; at += bytes) {
      std::array<std::byte, 48> head;
      if (!space.read_present(at, head).has_value()) continue;
      const auto pool = parse_pool_head(head, bytes);
      if (pool && pool->used > 0) ++pools;
    }
  }
  return pools;
}

// Within what a process keeps in memory that is no longer a pool.
TEST_P(LivingPython, the_table_of_arenas_that_a_reading_proves_leads_to_pools_that_are_made_later) {
  const auto contents = read();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  ASSERT_TRUE(contents->pool_table.has_value()) << testing::PrintToString(contents->notes);
  const PoolTable& table = *contents->pool_table;
  EXPECT_THAT(table.types, testing::Contains(testing::Field(&PoolTable::Type::name, "dict")));
  EXPECT_THAT(table.types, Not(testing::Contains(testing::Field(&PoolTable::Type::name, "Store"))));
  const auto before = pools_found(test::ProcessSpace(python_->pid(), kFiles).space());
  python_->grow();
  const test::ProcessSpace grown(python_->pid(), kFiles);
  const auto now = pools_found(grown.space());
  EXPECT_GT(now, 2 * before);
  EXPECT_NEAR(static_cast<double>(pools_in_use(grown.space(), table)), static_cast<double>(now),
              0.01 * static_cast<double>(now));
}

TEST(CpythonContentsOfOthers, a_program_that_is_no_python_has_none) {
  const test::ProcessSpace process(::getpid(), "unit_");
  const auto contents = read_contents(process.space(), process.space());
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace oomw::cpython
