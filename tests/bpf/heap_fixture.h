// SPDX-License-Identifier: Apache-2.0
// Victims whose heap profile is walked: real Go programs in a cgroup with a limit, and children of
// the test that lay out lists by hand.
#pragma once

#include <oomwitness/goheap.h>

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bpf/kernel_fixture.h"
#include "bpf/programs.h"
#include "process/open_memory.h"
#include "runtimes/go/retention/goroutine_counts.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw::test {

struct CopiedBucket {
  oomw_go_bucket header{};
  std::vector<std::uint64_t> pcs;
  std::vector<std::uint64_t> record;  // trailing zeros are there again
};

// By the letter of goheap.h; ADD_FAILURE() where the bytes do not add up.
inline void parse_records(std::span<const std::byte> bytes, std::uint64_t text, std::vector<CopiedBucket>& out) {
  while (!bytes.empty()) {
    CopiedBucket bucket;
    if (bytes.size() < sizeof(bucket.header)) return (void)(ADD_FAILURE() << bytes.size() << " bytes are left");
    std::memcpy(&bucket.header, bytes.data(), sizeof(bucket.header));
    const auto& header = bucket.header;
    std::size_t pc_bytes = (std::size_t{header.pc_count} * header.pc_bytes + 7) / 8 * 8;
    std::size_t whole = sizeof(header) + pc_bytes + std::size_t{header.stored_words} * 8;
    if (whole > bytes.size() || header.stored_words > header.record_words) {
      return (void)(ADD_FAILURE() << "bucket of " << whole << " bytes, " << bytes.size() << " are left");
    }
    const std::byte* at = bytes.data() + sizeof(header);
    for (std::size_t i = 0; i < header.pc_count; ++i) {
      std::uint64_t pc = 0;
      std::memcpy(&pc, at + i * header.pc_bytes, header.pc_bytes);
      bucket.pcs.push_back(header.pc_bytes == 4 ? pc + text : pc);
    }
    bucket.record.resize(header.record_words);
    std::memcpy(bucket.record.data(), at + pc_bytes, std::size_t{header.stored_words} * 8);
    out.push_back(std::move(bucket));
    bytes = bytes.subspan(whole);
  }
}

class HeapTest : public KernelTest {
 protected:
  using Buckets = std::vector<CopiedBucket>;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }

  // A child that outgrows every limit of these tests.
  static int leak() {
    touch_memory(mebibytes(200));
    return 0;
  }

  // With the programs that forget a process at its exec and exit.
  static KernelConfig config() { return config_of_only({"oom_kill", "process_lifecycle", "heap_at_kill"}); }

  [[nodiscard]] HeapWalks& heap() { return *source_->heap_walks(); }

  [[nodiscard]] std::vector<HeapWalked> walks_of(pid_t pid) const {
    return events_where<HeapWalked>([pid](const HeapWalked& walk) { return walk.process.pid == pid; });
  }

  // The chunks of a walk, parsed.
  Buckets take(const HeapWalked& walk) {
    Buckets buckets;
    auto taken = heap().take_chunks(
        walk, [&](std::span<const std::byte> bytes) { parse_records(bytes, walk.text_address, buckets); });
    EXPECT_TRUE(taken.has_value()) << taken.error().message;
    EXPECT_EQ(buckets.size(), walk.walked);
    return buckets;
  }

  // The one walk of a process, or a failure.
  [[nodiscard]] HeapWalked only_walk_of(pid_t pid) {
    collect();
    auto walks = walks_of(pid);
    EXPECT_EQ(walks.size(), 1u) << lost(LostStage::kRingbufWalk) << " did not fit the ring";
    return walks.empty() ? HeapWalked{} : walks.front();
  }

  static MonotonicTime later(std::int64_t seconds) { return {SystemClock().now().ns + seconds * 1'000'000'000}; }
};

// A go-heap in a cgroup of its own, registered; dies of its limit on command.
class GoVictim {
 public:
  GoVictim(TestCgroup& cgroup, const std::string& program, const std::string& rate = "")
      : cgroup_(cgroup), process_(program, rate) {
    std::FILE* file = std::fopen((cgroup.directory() + "/cgroup.procs").c_str(), "w");
    std::fprintf(file, "%d", process_.pid());
    std::fclose(file);
  }

  [[nodiscard]] ProcessKey key() const { return {process_.pid(), read_start_ticks(process_.pid())}; }
  [[nodiscard]] int pid() const { return process_.pid(); }
  std::string ask(const std::string& command) { return process_.ask(command); }

  Result<HeapAddresses> addresses() const {
    ASSIGN_OR_RETURN(const auto target, go::test::target_of(process_.pid()));
    return HeapAddresses{.buckets = target.variables.buckets.value_or(0),
                         .rate = target.variables.rate.value_or(0),
                         .cycle = target.variables.cycle.value_or(0),
                         .text = 0x400000,
                         .record_words = 0};
  }
  Result<go::retention::GoroutineCounts> goroutines() const {
    const std::string directory = "/proc/" + std::to_string(process_.pid());
    const UniqueFd page_map(::open((directory + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd exe(::open((directory + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
    const ProcessMemory memory(process_.pid());
    const FdSource pages(page_map.get()), executable(exe.get());
    return go::retention::count_goroutines({memory, pages, executable, 0}, SystemClock(), {});
  }
  Result<go::HeapSnapshot> read() const {
    ASSIGN_OR_RETURN(const auto target, go::test::target_of(process_.pid()));
    return go::read_heap(target);
  }
  void set_oom_score_adj(int value) const {
    std::FILE* file = std::fopen(("/proc/" + std::to_string(process_.pid()) + "/oom_score_adj").c_str(), "w");
    std::fprintf(file, "%d", value);
    std::fclose(file);
  }
  // Until the kernel ends it, with blocks too small to come untouched from the kernel.
  void outgrow(std::uint64_t limit) {
    cgroup_.set_limit(limit);
    ask("rate 524288");
    ask("stacks 100000000");
  }

 private:
  TestCgroup& cgroup_;
  go::test::GoProcess process_;
};

}  // namespace oomw::test
