// SPDX-License-Identifier: Apache-2.0
// Growth samples of real processes: the slots that are held equal what each has grown by.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "bpf/programs.h"
#include "kernel/growth_programs.h"
#include "support/child_process.h"
#include "support/shared_value.h"

namespace oomw::test {
namespace {

constexpr std::size_t kMiB = 1u << 20;

// Held apart and named, so that a sample's stack is known to lead through it.
[[gnu::noinline]] char* touch_through_here(std::size_t bytes) {
  auto* memory = static_cast<char*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) std::_Exit(3);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  asm volatile("" : : "r"(memory) : "memory");
  return memory;
}

// Of this process, as the kernel counts it. On the stack: a heap that is given back is not what is measured.
std::uint64_t anonymous_bytes() {
  char text[4096] = "";
  const UniqueFd status(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  if (::read(status.get(), text, sizeof text - 1) <= 0) std::_Exit(4);
  const char* line = std::strstr(text, "RssAnon:");
  return line == nullptr ? 0 : std::strtoull(line + 8, nullptr, 10) << 10;
}

class GrowthBpfTest : public ::testing::TestWithParam<Rung> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    auto made = GrowthPrograms::make({.ring_bytes = 16 * kMiB, .max_processes = 4, .best_allowed = GetParam()});
    if (!made && made.error().message.find("verifier") != std::string::npos) FAIL() << made.error().message;
    if (!made) GTEST_SKIP() << made.error().message;
    growth_ = std::move(*made);
    const auto& status = growth_->status();
    ASSERT_EQ(status.rung, GetParam()) << (status.refused.empty() ? "" : status.refused.back().reason);
  }

  struct Sample {
    oomw_growth_sample head;
    std::vector<std::uint64_t> stack;
  };

  static bool is_in_function(const Sample& sample) {
    const auto function = reinterpret_cast<std::uint64_t>(&touch_through_here);
    const std::uint64_t ip = sample.head.registers[OOMW_GROWTH_REG_IP];
    return ip >= function && ip < function + 512;
  }

  void drain() {
    auto keep = [this](GrowthPrograms::Record record) {
      Sample sample;
      std::memcpy(&sample.head, record.data(), sizeof(sample.head));
      sample.stack.resize(sample.head.stack_bytes / 8);
      std::memcpy(sample.stack.data(), record.data() + sizeof(sample.head), sample.stack.size() * 8);
      samples_.push_back(std::move(sample));
    };
    while (growth_->drain(keep, 64) > 0) continue;
  }

  // Runs `body` in a process that is watched from before its first event on, until it has ended.
  void run(const std::function<int()>& body, GrowthTarget target = {}) {
    child_ = std::make_unique<ChildProcess>(nullptr, body);
    target.process = child_->key();
    target.cgroup = CgroupId{4711};
    ASSERT_TRUE(growth_->watch(target) && growth_->resume());
    EXPECT_TRUE(growth_->is_attached());
    child_->go();
    ASSERT_EQ(child_->wait(), 0);
    drain();
    state_ = growth_->state(target.process).value();
  }

  // As user space counts: the newest sample through each slot, less what the process gave back.
  [[nodiscard]] std::size_t held_slots() const {
    std::map<std::uint32_t, bool> slots;
    for (const Sample& sample : samples_) {
      slots.erase(slots.upper_bound(sample.head.slot_before), slots.end());
      for (auto slot = sample.head.slot_before + 1; slot <= sample.head.slot_after; ++slot) slots[slot] = true;
    }
    slots.erase(slots.upper_bound(state_.slot), slots.end());
    return slots.size();
  }

  [[nodiscard]] std::size_t largest_slot() const {
    std::size_t largest = 0;
    for (const Sample& sample : samples_) largest = std::max<std::size_t>(largest, sample.head.slot_after);
    return largest;
  }

  std::unique_ptr<GrowthPrograms> growth_;
  std::unique_ptr<ChildProcess> child_;
  std::vector<Sample> samples_;
  GrowthState state_;
};

constexpr std::size_t kSlot = 256u << 10;

// A slot at each end may be cut, and what the process does besides takes some pages.
void expect_slots_of(std::size_t held, std::size_t bytes) {
  EXPECT_GE(held + 2, bytes / kSlot);
  EXPECT_LE(held, bytes / kSlot + 3);
}

TEST_P(GrowthBpfTest, touched_memory_is_all_in_slots) {
  run([] { return touch_through_here(64 * kMiB) == nullptr; });
  expect_slots_of(held_slots(), 64 * kMiB);
  EXPECT_EQ(state_.over_budget + state_.ring_full, 0u);
  EXPECT_EQ(state_.samples, samples_.size());
}

TEST_P(GrowthBpfTest, sample_carries_the_process_and_its_registers) {
  run([] { return touch_through_here(16 * kMiB) == nullptr; });
  ASSERT_GE(samples_.size(), 32u);
  std::size_t in_function = 0;
  for (const Sample& sample : samples_) {
    EXPECT_EQ(sample.head.tgid, static_cast<std::uint32_t>(child_->pid()));
    EXPECT_EQ(sample.head.tid, sample.head.tgid);
    EXPECT_EQ(sample.head.start_boottime_ns / kNanosecondsPerTick, child_->key().start_ticks);
    EXPECT_EQ(sample.head.cgroup_id, 4711u);
    EXPECT_EQ(sample.head.slot_bytes, kSlot);
    if (is_in_function(sample)) ++in_function;
  }
  EXPECT_GE(in_function + 2, samples_.size());
}

constexpr std::uint64_t kMark = 0x6f6f6d7769746e65;

TEST_P(GrowthBpfTest, stack_is_copied_from_the_stack_pointer_on) {
  run([] {
    volatile std::uint64_t marks[64];
    for (auto& mark : marks) mark = kMark;
    return touch_through_here(8 * kMiB) == nullptr || marks[0] != kMark;
  });
  ASSERT_GE(samples_.size(), 16u);
  std::size_t in_function = 0;
  for (const Sample& sample : samples_) {
    EXPECT_EQ(sample.head.flags & OOMW_GROWTH_NO_STACK, 0u);
    if (!is_in_function(sample)) continue;  // before the marks, or at the process's end: no more than two
    ++in_function;
    EXPECT_GE(std::count(sample.stack.begin(), sample.stack.end(), kMark), 64) << sample.head.stack_bytes;
  }
  EXPECT_GE(in_function + 2, samples_.size());
}

TEST_P(GrowthBpfTest, stack_longer_than_is_copied_is_cut) {
  GrowthTarget target;
  target.stack_max_bytes = 128;
  run([] { return touch_through_here(4 * kMiB) == nullptr; }, target);
  ASSERT_FALSE(samples_.empty());
  for (const Sample& sample : samples_) {
    EXPECT_EQ(sample.head.stack_bytes, 128u);
    EXPECT_EQ(sample.head.flags, OOMW_GROWTH_STACK_CUT);
  }
}

TEST_P(GrowthBpfTest, threads_are_sampled_with_their_own_stacks) {
  // The end of a thread may trim the heap that the child inherited, so the kernel's own count is the truth.
  const SharedValue<std::uint64_t> grown;
  run([&grown] {
    const std::uint64_t before = anonymous_bytes();
    auto grow = [] {
      volatile std::uint64_t marks[8];
      for (auto& mark : marks) mark = kMark;
      return touch_through_here(16 * kMiB) == nullptr ? marks[0] : 0;
    };
    std::thread first(grow), second(grow);
    first.join();
    second.join();
    *grown = anonymous_bytes() - before;
    return 0;
  });
  // Two CPUs that pass a slot at once may leave it out, and each thread has pages that are not counted yet.
  expect_slots_of(state_.slot, *grown);
  EXPECT_GE(held_slots(), 32 * kMiB / kSlot * 8 / 10);
  // Before 6.2 a thread reports up to 64 pages together: a sample may stand for several slots.
  std::size_t of_threads = 0, with_marks = 0;
  for (const Sample& sample : samples_) {
    if (sample.head.tid == sample.head.tgid) continue;
    ++of_threads;
    if (std::count(sample.stack.begin(), sample.stack.end(), kMark) >= 8) ++with_marks;
  }
  EXPECT_GE(of_threads, 32 * kMiB / kSlot / 2);
  EXPECT_GE(with_marks + 2, of_threads);  // a thread's own first pages come before its marks
}

TEST_P(GrowthBpfTest, huge_pages_are_all_in_slots) {
  run([] {
    touch_through_here(kSlot);  // slots begin behind the first event
    auto* memory = static_cast<char*>(
        ::mmap(nullptr, 64 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory == MAP_FAILED) return 3;
    ::madvise(memory, 64 * kMiB, MADV_HUGEPAGE);
    for (std::size_t at = 0; at < 64 * kMiB; at += 4096) memory[at] = 1;
    return 0;
  });
  expect_slots_of(held_slots(), 64 * kMiB);
}

TEST_P(GrowthBpfTest, memory_that_the_kernel_fills_is_in_slots) {
  run([] {
    touch_through_here(kSlot);  // where huge pages are always on, the first event is one
    auto* memory = static_cast<char*>(
        ::mmap(nullptr, 32 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
    return memory == MAP_FAILED ? 3 : 0;
  });
  expect_slots_of(held_slots(), 32 * kMiB);
}

TEST_P(GrowthBpfTest, scratch_memory_given_back_is_not_held) {
  run([] {
    for (int round = 0; round < 16; ++round) {
      touch_through_here(kMiB);
      ::munmap(touch_through_here(16 * kMiB), 16 * kMiB);
    }
    return 0;
  });
  expect_slots_of(held_slots(), 16 * kMiB);
  EXPECT_GE(largest_slot() * kSlot, 30 * kMiB);
}

TEST_P(GrowthBpfTest, fork_and_its_child_are_not_counted) {
  run([] {
    touch_through_here(8 * kMiB);
    if (const pid_t child = ::fork(); child == 0) {
      touch_through_here(32 * kMiB);
      ::_exit(0);
    } else {
      ::waitpid(child, nullptr, 0);
    }
    touch_through_here(8 * kMiB);
    return 0;
  });
  expect_slots_of(held_slots(), 16 * kMiB);
  for (const Sample& sample : samples_) EXPECT_EQ(sample.head.tgid, static_cast<std::uint32_t>(child_->pid()));
}

TEST_P(GrowthBpfTest, sampling_ends_at_exec) {
  run([] {
    touch_through_here(4 * kMiB);
    ::execl("/bin/dd", "dd", "if=/dev/zero", "of=/dev/null", "bs=32M", "count=1", "status=none", nullptr);
    return 1;
  });
  expect_slots_of(held_slots(), 4 * kMiB);
}

TEST_P(GrowthBpfTest, samples_over_the_budget_are_counted_and_their_slots_move_on) {
  GrowthTarget target;
  target.budget_bytes_per_second = 8192;
  run([] { return touch_through_here(16 * kMiB) == nullptr; }, target);
  EXPECT_GE(state_.over_budget, 32u);
  EXPECT_EQ(state_.samples, samples_.size());
  EXPECT_GE(state_.samples, 1u);
  expect_slots_of(state_.slot, 16 * kMiB);
}

// Laid out as CPython has it: the running thread's state with its thread's pointer, its cframe up to 3.12, frames from
// the innermost on.
struct FakeFrame {
  std::uint64_t code, previous, instruction;
};
FakeFrame fake_frames[64];
std::uint64_t fake_cframe[1], fake_thread[3], fake_runtime;

void link_fake_frames(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto next = reinterpret_cast<std::uint64_t>(&fake_frames[i + 1]);
    fake_frames[i] = {1000 + i, i + 1 < count ? next : 0, 2000 + i};
  }
  fake_cframe[0] = reinterpret_cast<std::uint64_t>(&fake_frames[0]);
  fake_thread[1] = reinterpret_cast<std::uint64_t>(&fake_cframe[0]);
  fake_thread[2] = fake_cframe[0];
  fake_runtime = reinterpret_cast<std::uint64_t>(&fake_thread[0]);
}

class GrowthPythonBpfTest : public GrowthBpfTest {
 protected:
  // has_cframe: as 3.11 and 3.12 have it; its frame is the first word, as in 3.12.
  void run_with_frames(std::size_t count, bool has_cframe = true, bool is_another_threads = false) {
    link_fake_frames(count);
    child_ = std::make_unique<ChildProcess>(nullptr, [is_another_threads] {
      fake_thread[0] = is_another_threads ? 4096 : ::pthread_self();
      return touch_through_here(4 * kMiB) == nullptr;
    });
    GrowthTarget target;
    target.process = child_->key();
    ASSERT_TRUE(growth_->watch(target) && growth_->resume());
    ASSERT_TRUE(growth_->set_python(target.process, {.thread_state = reinterpret_cast<std::uint64_t>(&fake_runtime),
                                                     .id_of_thread = 0,
                                                     .frame_of_thread = has_cframe ? 8u : 16u,
                                                     .has_cframe = has_cframe,
                                                     .frame_of_cframe = 0,
                                                     .code_of_frame = 0,
                                                     .previous_of_frame = 8,
                                                     .instruction_of_frame = 16,
                                                     .reserved = 0}));
    child_->go();
    ASSERT_EQ(child_->wait(), 0);
    drain();
    ASSERT_FALSE(samples_.empty());
  }
};

TEST_P(GrowthPythonBpfTest, frames_come_innermost_first) {
  run_with_frames(5);
  samples_.erase(samples_.begin());  // before 6.2 it may come from before the thread's pointer is set
  ASSERT_FALSE(samples_.empty());
  for (const Sample& sample : samples_) {
    ASSERT_EQ(sample.head.python_frames, 5u);
    EXPECT_EQ(sample.head.python[0].code, 1000u);
    EXPECT_EQ(sample.head.python[4].code, 1004u);
    EXPECT_EQ(sample.head.python[4].instruction, 2004u);
    EXPECT_EQ(sample.head.flags & OOMW_GROWTH_PYTHON_CUT, 0u);
  }
}

TEST_P(GrowthPythonBpfTest, frames_are_found_without_a_cframe) {
  run_with_frames(3, false);
  EXPECT_EQ(samples_.back().head.python_frames, 3u);
  EXPECT_EQ(samples_.back().head.python[0].code, 1000u);
}

TEST_P(GrowthPythonBpfTest, frames_of_another_thread_are_left_out) {
  run_with_frames(5, true, true);
  for (const Sample& sample : samples_) EXPECT_EQ(sample.head.python_frames, 0u);
}

TEST_P(GrowthPythonBpfTest, more_frames_than_are_copied_are_cut) {
  run_with_frames(60);
  EXPECT_EQ(samples_.back().head.python_frames, std::uint32_t{OOMW_GROWTH_PYTHON_MAX});
  EXPECT_NE(samples_.back().head.flags & OOMW_GROWTH_PYTHON_CUT, 0u);
}

TEST_P(GrowthBpfTest, program_is_attached_only_while_a_process_is_watched) {
  EXPECT_FALSE(growth_->is_attached());
  run([] { return touch_through_here(kMiB) == nullptr; });
  growth_->unwatch(child_->key());
  EXPECT_FALSE(growth_->is_attached());
  EXPECT_EQ(growth_->watched(), 0u);
  samples_.clear();
  child_.reset();
  run([] { return touch_through_here(8 * kMiB) == nullptr; });
  EXPECT_TRUE(growth_->is_attached());
  expect_slots_of(held_slots(), 8 * kMiB);
}

TEST_P(GrowthBpfTest, growth_during_a_rest_or_without_a_place_is_unseen_and_in_no_slot) {
  int orders[2], answers[2];
  ASSERT_EQ(::pipe(orders), 0);
  ASSERT_EQ(::pipe(answers), 0);
  char byte = 0;
  // A MiB first, which begins the slots, then as many as each order says.
  ChildProcess child(nullptr, [&] {
    for (char mib = 1; mib != 0;) {
      touch_through_here(static_cast<std::size_t>(mib) * kMiB);
      if (::write(answers[1], &mib, 1) != 1 || ::read(orders[0], &mib, 1) != 1) return 1;
    }
    return 0;
  });
  const auto touch = [&](char mib) {
    ASSERT_EQ(::write(orders[1], &mib, 1), 1);
    if (mib == 0) return;
    ASSERT_EQ(::read(answers[0], &byte, 1), 1);
  };
  GrowthTarget target;
  target.process = child.key();
  ASSERT_TRUE(growth_->watch(target) && growth_->resume());
  child.go();
  ASSERT_EQ(::read(answers[0], &byte, 1), 1);
  touch(8);
  growth_->rest();
  EXPECT_FALSE(growth_->is_attached());
  touch(32);
  ASSERT_TRUE(growth_->resume());
  EXPECT_TRUE(growth_->is_attached());
  touch(8);
  target.parked = growth_->parked(target.process);
  growth_->unwatch(target.process);
  touch(16);
  ASSERT_TRUE(growth_->watch(target) && growth_->resume());
  touch(4);
  touch(0);
  EXPECT_EQ(child.wait(), 0);
  drain();
  state_ = growth_->state(target.process).value();
  expect_slots_of(held_slots(), 21 * kMiB);
  EXPECT_GE(state_.unseen + 4, 48 * kMiB / kSlot);
  EXPECT_LE(state_.unseen, 48 * kMiB / kSlot + 4);
  for (const int fd : {orders[0], orders[1], answers[0], answers[1]}) ::close(fd);
}

TEST_P(GrowthBpfTest, first_sample_wakes_the_reader) {
  ChildProcess child(nullptr, [] { return touch_through_here(2 * kMiB) == nullptr; });
  GrowthTarget target;
  target.process = child.key();
  ASSERT_TRUE(growth_->watch(target) && growth_->resume());
  child.go();
  ASSERT_EQ(child.wait(), 0);
  pollfd wait{growth_->ring_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 10'000), 1);
}

TEST_P(GrowthBpfTest, another_process_of_the_same_pid_is_not_sampled) {
  ChildProcess child(nullptr, [] { return touch_through_here(4 * kMiB) == nullptr; });
  GrowthTarget target;
  target.process = {child.pid(), child.key().start_ticks - 1};
  ASSERT_TRUE(growth_->watch(target) && growth_->resume());
  child.go();
  ASSERT_EQ(child.wait(), 0);
  drain();
  EXPECT_TRUE(samples_.empty());
  EXPECT_FALSE(growth_->state(target.process)->has_begun);
}

TEST_P(GrowthBpfTest, more_processes_than_there_is_room_for_are_refused) {
  GrowthTarget target;
  for (std::int32_t pid = 1; pid <= 4; ++pid) {
    target.process = {pid, 1};
    ASSERT_TRUE(growth_->watch(target));
  }
  target.process = {5, 1};
  auto refused = growth_->watch(target);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_EQ(growth_->watched(), 4u);
}

const auto kRungs = ::testing::Values(Rung::kTpBtf, Rung::kRawTp);
const auto kRungName = [](const auto& info) { return std::string(to_string(info.param)); };
INSTANTIATE_TEST_SUITE_P(Rungs, GrowthBpfTest, kRungs, kRungName);
INSTANTIATE_TEST_SUITE_P(Rungs, GrowthPythonBpfTest, kRungs, kRungName);

}  // namespace
}  // namespace oomw::test
