// SPDX-License-Identifier: Apache-2.0
// Python processes whose pools are counted at their kill: real ones, and victims that lay out the pools themselves.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "analyses/pools_at_kill.h"
#include "base/files.h"
#include "bpf/fake_pools.h"
#include "bpf/heap_fixture.h"
#include "bpf/programs.h"
#include "runtimes/cpython/cpython_contents.h"
#include "support/process_space.h"
#include "support/python_interpreter.h"

namespace oomw::test {
namespace {

class PoolsTest : public HeapTest {
 protected:
  static KernelConfig config() {
    KernelConfig patient = config_of_only({"oom_kill", "process_lifecycle", "heap_at_kill"});
    patient.walk_max_time = patient.walk_cgroup_time = std::chrono::seconds(10);
    return patient;
  }

  [[nodiscard]] HeapAnalysed analysed(const HeapWalked& walk, const PoolTable& known) {
    std::vector<std::byte> records;
    const auto taken = heap().take_chunks(
        walk, [&](std::span<const std::byte> bytes) { records.insert(records.end(), bytes.begin(), bytes.end()); });
    EXPECT_TRUE(taken.has_value()) << taken.error().message;
    return pools_at_kill(walk, records, known);
  }

  static int leak() {
    touch_memory(mebibytes(200));
    return 0;
  }

  // Kills a child that has `pools`.
  HeapWalked kill_with(FakePools& pools) {
    cgroup_->set_limit(mebibytes(48));
    ChildProcess child(cgroup_.get(), leak);
    EXPECT_TRUE(heap().watch_pools(child.key(), pools.addresses()).has_value());
    child.go();
    EXPECT_TRUE(WIFSIGNALED(child.wait()));
    return only_walk_of(child.pid());
  }
};

// Makes objects at its start, and more when it is told to grow. Floats and ints take blocks of the same size, so they
// share pools.
const char* const kProgram = R"(
import sys, time
class Order:
    __slots__ = ('a', 'b')
keep = []
def grow(count):
    keep.append([Order() for i in range(count)])
    keep.append([number for i in range(count) for number in (i + 0.5, i + 1000000)])
grow(int(sys.argv[1]))
print('ready', flush=True)
sys.stdin.readline()
grow(int(sys.argv[2]))
print('grown', flush=True)
time.sleep(600)
)";

// A Python in a cgroup, to be killed because of somebody else, so that what it holds is known.
class PythonVictim {
 public:
  PythonVictim(TestCgroup& cgroup, const std::string& path, int first, int more) : cgroup_(cgroup) {
    int to[2], from[2];
    OOMW_CHECK(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      cgroup.enter();
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::execl(path.c_str(), path.c_str(), "-S", "-c", kProgram, std::to_string(first).c_str(),
              std::to_string(more).c_str(), nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = UniqueFd(to[1]);
    out_ = UniqueFd(from[0]);
  }
  ~PythonVictim() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  PythonVictim(const PythonVictim&) = delete;
  PythonVictim& operator=(const PythonVictim&) = delete;

  [[nodiscard]] ProcessKey key() const { return {pid_, read_start_ticks(pid_)}; }
  // Until it has written this word and a newline.
  [[nodiscard]] bool says(const std::string& word) const {
    std::string text;
    char byte = 0;
    while (!text.ends_with(word + "\n") && ::read(out_.get(), &byte, 1) == 1) text += byte;
    return text.ends_with(word + "\n");
  }
  [[nodiscard]] bool grow() const { return ::write(in_.get(), "\n", 1) == 1 && says("grown"); }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    OOMW_CHECK(::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status));
  }
  [[nodiscard]] Result<MemoryContents> contents() const {
    const ProcessSpace process(pid_, "");
    return cpython::read_contents(process.space(), process.space());
  }
  // Others fill what is left: the victim weighs more than any of them.
  [[nodiscard]] std::vector<std::unique_ptr<ChildProcess>> kill_by_growth_of_others() const {
    const UniqueFd weight(::open(("/proc/" + std::to_string(pid_) + "/oom_score_adj").c_str(), O_WRONLY | O_CLOEXEC));
    OOMW_CHECK(::write(weight.get(), "1000", 4) == 4);
    cgroup_.set_limit(cgroup_.usage_bytes() + mebibytes(24));
    std::vector<std::unique_ptr<ChildProcess>> growers;
    for (int i = 0; i < 8; ++i) {
      growers.push_back(std::make_unique<ChildProcess>(&cgroup_, [] {
        touch_memory(mebibytes(12));
        return ::pause();
      }));
      growers.back()->go();
    }
    return growers;
  }

 private:
  TestCgroup& cgroup_;
  pid_t pid_ = -1;
  UniqueFd in_, out_;
};

template <typename Types>
double bytes_of(const Types& types, const std::string& name) {
  double sum = 0;
  for (const auto& type : types) {
    if (type.name == name) sum += static_cast<double>(type.bytes);
  }
  return sum;
}

const PoolsAtKill::Type& type_of(const PoolsAtKill& pools, const std::string& name) {
  static const PoolsAtKill::Type kNone;
  const auto found = std::ranges::find(pools.types, name, &PoolsAtKill::Type::name);
  return found == pools.types.end() ? kNone : *found;
}

class PythonPoolsTest : public PoolsTest, public ::testing::WithParamInterface<std::string> {
 protected:
  // Registered as it is at first, killed as it is after it has grown: what was counted, and what it really held.
  struct Counted {
    HeapWalked walk;
    HeapAnalysed at_kill;
    MemoryContents truth;
  };
  void count(const std::string& path, int first, int more, Counted& counted) {
    cgroup_->set_limit(mebibytes(600));
    PythonVictim victim(*cgroup_, path, first, more);
    ASSERT_TRUE(victim.says("ready"));
    const auto before = victim.contents();
    ASSERT_TRUE(before.has_value()) << before.error().message;
    ASSERT_TRUE(before->pool_table.has_value()) << ::testing::PrintToString(before->notes);
    const PoolTable& table = *before->pool_table;
    const PoolAddresses addresses{.arenas = table.arenas, .type_type = table.type_type, .pool_bytes = table.pool_bytes};
    ASSERT_TRUE(heap().watch_pools(victim.key(), addresses).has_value());
    ASSERT_TRUE(victim.grow());
    victim.stop();
    auto truth = victim.contents();
    ASSERT_TRUE(truth.has_value()) << truth.error().message;
    const int pid = victim.key().pid;
    const auto growers = victim.kill_by_growth_of_others();
    for (int i = 0; i < 400 && walks_of(pid).empty(); ++i) collect();  // it dies in its own time
    counted.walk = only_walk_of(pid);
    ASSERT_TRUE(counted.walk.pools.has_value());
    counted.at_kill = analysed(counted.walk, table);
    counted.truth = std::move(*truth);
    const auto took = static_cast<double>((counted.walk.time - counted.walk.started).count());
    const PoolCounts& pools = *counted.walk.pools;
    std::cout << path << ": " << pools.read << " of " << pools.used << " pools with " << (pools.bytes >> 20) << " MiB, "
              << took / 1e6 << " ms, " << took / static_cast<double>(pools.read) << " ns a pool\n";
  }
};

TEST_P(PythonPoolsTest, what_filled_it_at_the_kill_is_counted_though_most_of_it_is_younger_than_the_reading) {
  const std::string path = python_interpreter(GetParam());
  if (path.empty()) GTEST_SKIP() << "no Python " << GetParam() << " here";
  OOMW_SHARE_OR_SKIP("patient", config(), "heap_at_kill");
  Counted counted;
  ASSERT_NO_FATAL_FAILURE(count(path, 20'000, 180'000, counted));
  EXPECT_EQ(counted.walk.stop, WalkStop::kEnd) << to_string(counted.walk.stop);
  const PoolCounts& sums = *counted.walk.pools;
  EXPECT_GT(sums.used, 1'000u);
  EXPECT_EQ(sums.absent, 0u);
  EXPECT_EQ(sums.malformed, 0u);
  EXPECT_EQ(sums.read, sums.used) << "by the interpreter's own count, which no arena made since is missing from";
  ASSERT_EQ(counted.at_kill.pools.size(), 1u);
  const PoolsAtKill& pools = counted.at_kill.pools.front();
  EXPECT_EQ(pools.cut, "");
  // All that there is of these types, 20,000 and 180,000 of each.
  const PoolsAtKill::Type& orders = type_of(pools, "Order");
  EXPECT_NEAR(static_cast<double>(orders.count), 200'000, 2'000) << ::testing::PrintToString(counted.at_kill.notes);
  // They share their pools: the bound holds for five deviations of ten, so that no run in a million fails.
  for (const char* name : {"float", "int"}) {
    const PoolsAtKill::Type& type = type_of(pools, name);
    const double truth = bytes_of(counted.truth.fillers, name);
    EXPECT_GT(type.error_bytes, 0u);
    EXPECT_NEAR(static_cast<double>(type.bytes), truth, 2.5 * static_cast<double>(type.error_bytes)) << name;
    EXPECT_NEAR(truth, 200'000 * 32, 200'000) << name;
  }
}

// The figure of bpf/README.md is printed.
TEST_P(PythonPoolsTest, more_than_a_hundred_mebibytes_are_read_whole) {
  const std::string path = python_interpreter(GetParam());
  if (path.empty() || GetParam() != "3") GTEST_SKIP() << "the same in every version";
  OOMW_SHARE_OR_SKIP("patient", config(), "heap_at_kill");
  Counted counted;
  ASSERT_NO_FATAL_FAILURE(count(path, 20'000, 1'080'000, counted));
  EXPECT_EQ(counted.walk.stop, WalkStop::kEnd) << to_string(counted.walk.stop);
  EXPECT_EQ(counted.walk.pools->read, counted.walk.pools->used);
  EXPECT_NEAR(static_cast<double>(type_of(counted.at_kill.pools.at(0), "Order").count), 1'100'000, 11'000);
}

INSTANTIATE_TEST_SUITE_P(Versions, PythonPoolsTest, ::testing::Values("3", "3.9", "3.10", "3.12", "3.13", "3.14"),
                         [](const auto& version) { return "of_" + std::to_string(version.index); });

class HostilePoolsTest : public PoolsTest {};

TEST_F(HostilePoolsTest, pools_are_counted_by_type_as_they_were_laid_out) {
  OOMW_SHARE_OR_SKIP("patient", config(), "heap_at_kill");
  FakePools pools(8);
  FakePools::half(pools.pool(3, 5), 0) = 0;                          // free
  FakePools::half(pools.entry(3), 4) = 1;                            // which its arena knows
  FakePools::word(pools.pool(4, 7) + FakePools::kHeadBytes, 0) = 0;  // one block of it, perhaps the one looked at
  const auto walk = kill_with(pools);
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  ASSERT_TRUE(walk.pools.has_value());
  const std::uint64_t all = 8 * FakePools::kPoolsOfArena - 1;
  EXPECT_EQ(walk.pools->arenas, 8u);
  EXPECT_EQ(walk.pools->used, all);
  EXPECT_EQ(walk.pools->read, all);
  EXPECT_EQ(walk.pools->bytes, all * FakePools::kBlocks * FakePools::kBlockBytes);
  const auto event = analysed(walk, {});
  ASSERT_EQ(event.pools.size(), 1u);
  EXPECT_GE(type_of(event.pools.front(), "shop.Order").pools, all - 1);
  EXPECT_EQ(heap().watched(), 0u);
}

TEST_F(HostilePoolsTest, table_or_pools_that_lie_are_bounded_and_count_no_pool_twice) {
  OOMW_SHARE_OR_SKIP("patient", config(), "heap_at_kill");
  constexpr std::uint64_t kAll = 8 * FakePools::kPoolsOfArena;
  const auto address = [](const char* at) { return reinterpret_cast<std::uint64_t>(at); };
  struct Case {
    const char* name;
    std::function<void(FakePools&)> forge;
    WalkStop stop;
    std::uint64_t read, malformed, absent;
  };
  const Case kCases[] = {
      {"pointer to nothing", [](auto& pools) { pools.pointer() = 4096; }, WalkStop::kEnd, 0, 0, 0},
      {"the kernel's", [](auto& pools) { pools.pointer() = ~std::uint64_t{7}; }, WalkStop::kEnd, 0, 0, 0},
      {"one arena again and again",
       [](auto& pools) {
         for (std::size_t i = 1; i < 8; ++i) std::memcpy(pools.entry(i), pools.entry(0), 48);
       },
       WalkStop::kEnd, 64, 0, 0},
      {"more pools than an arena has", [](auto& pools) { FakePools::half(pools.entry(2), 5) = 1u << 30; },
       WalkStop::kEnd, kAll - 64, 0, 0},
      {"arena at an odd place", [](auto& pools) { FakePools::word(pools.entry(2), 0) += 8; }, WalkStop::kEnd, kAll - 64,
       0, 0},
      {"arena that is not there", [](auto& pools) { FakePools::word(pools.entry(2), 0) = 4096; }, WalkStop::kEnd,
       kAll - 64, 0, 0},
      {"pools that are not there",
       [](auto& pools) { (void)::madvise(pools.pool(2, 0), 3 * FakePools::kPoolBytes, MADV_DONTNEED); }, WalkStop::kEnd,
       kAll - 3, 0, 3},
      {"blocks that end on a page that was never written",
       [](auto& pools) {
         for (std::size_t i = 0; i < FakePools::kPoolsOfArena; ++i) pools.make_blocks_end_on_no_page(pools.pool(2, i));
       },
       WalkStop::kEnd, kAll, 0, 0},
      {"another arena's pool", [](auto& pools) { FakePools::half(pools.pool(2, 2), 8) = 5; }, WalkStop::kEnd, kAll - 1,
       1, 0},
      {"no such size", [](auto& pools) { FakePools::half(pools.pool(2, 2), 9) = 32; }, WalkStop::kEnd, kAll - 1, 1, 0},
      {"size of 2^36", [](auto& pools) { FakePools::half(pools.pool(2, 2), 9) = ~0U; }, WalkStop::kEnd, kAll - 1, 1, 0},
      {"end inside of a block", [](auto& pools) { FakePools::half(pools.pool(2, 2), 10) -= 8; }, WalkStop::kEnd,
       kAll - 1, 1, 0},
      {"end behind the pool", [](auto& pools) { FakePools::half(pools.pool(2, 2), 10) = 1u << 20; }, WalkStop::kEnd,
       kAll - 1, 1, 0},
      {"more in use than it has", [](auto& pools) { FakePools::half(pools.pool(2, 2), 0) = 100'000; }, WalkStop::kEnd,
       kAll - 1, 1, 0},
      {"types that are none",
       [&](auto& pools) {
         FakePools::word(pools.type(1), 1) = address(pools.name());
         FakePools::word(pools.type(0), 1) = 0;
       },
       WalkStop::kEnd, kAll, 0, 0},
  };
  for (const Case& forged : kCases) {
    FakePools pools(8);
    forged.forge(pools);
    const auto walk = kill_with(pools);
    ASSERT_TRUE(walk.pools.has_value()) << forged.name;
    EXPECT_EQ(walk.stop, forged.stop) << forged.name << ": " << to_string(walk.stop);
    EXPECT_EQ(walk.pools->read, forged.read) << forged.name;
    EXPECT_EQ(walk.pools->malformed, forged.malformed) << forged.name;
    EXPECT_EQ(walk.pools->absent, forged.absent) << forged.name;
    const auto event = analysed(walk, {});
    for (const PoolsAtKill& found : event.pools) {
      for (const PoolsAtKill::Type& type : found.types) {
        EXPECT_TRUE(type.name == "shop.Order" || type.name == "memory without a type") << forged.name << type.name;
      }
    }
  }
}

TEST_F(HostilePoolsTest, more_types_than_there_are_records_are_in_the_sum) {
  OOMW_SHARE_OR_SKIP("patient", config(), "heap_at_kill");
  FakePools pools(32, 2'000);
  const auto walk = kill_with(pools);
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(walk.pools->read, 32 * FakePools::kPoolsOfArena);
  const auto event = analysed(walk, {});
  std::uint64_t named = 0;
  for (const PoolsAtKill::Type& type : event.pools.at(0).types) named += type.pools;
  EXPECT_GE(named, 300u);
  EXPECT_LE(named, walk.pools->read);
}

// Each pool of a type of its own, so that each takes as long as it can.
TEST_F(HostilePoolsTest, the_time_of_the_walk_bounds_it) {
  KernelConfig hasty = config();
  hasty.walk_max_time = hasty.walk_cgroup_time = std::chrono::microseconds(400);
  OOMW_SHARE_OR_SKIP("hasty", hasty, "heap_at_kill");
  FakePools pools(40, 40 * FakePools::kPoolsOfArena);
  const auto walk = kill_with(pools);
  ASSERT_TRUE(walk.pools.has_value());
  EXPECT_EQ(walk.stop, WalkStop::kTimeLimit) << to_string(walk.stop);
  EXPECT_LT(walk.pools->read, 40 * FakePools::kPoolsOfArena);
  const auto event = analysed(walk, {});
  if (event.result == CaptureResult::kOk) {
    EXPECT_EQ(event.pools.at(0).cut, "time_limit");
  } else {
    EXPECT_THAT(event.detail, ::testing::HasSubstr("no pool was read (time_limit)"));
  }
}

TEST_F(HostilePoolsTest, what_is_of_no_size_or_of_a_go_program_is_not_watched) {
  OOMW_SHARE_OR_SKIP("patient", config(), "heap_at_kill");
  FakePools pools(1);
  PoolAddresses addresses = pools.addresses();
  addresses.pool_bytes = 12'288;
  const ProcessKey self{::getpid(), read_start_ticks(::getpid())};
  EXPECT_EQ(heap().watch_pools(self, addresses).error().code, ErrorCode::kInvalid);
  ASSERT_TRUE(heap().watch(self, HeapAddresses{.buckets = 4096}).has_value());
  EXPECT_EQ(heap().watch_pools(self, pools.addresses()).error().code, ErrorCode::kUnavailable);
  heap().unwatch(self);
  EXPECT_TRUE(heap().watch_pools(self, pools.addresses()).has_value());
  heap().unwatch(self);
  EXPECT_EQ(heap().watched(), 0u);
}

}  // namespace
}  // namespace oomw::test
