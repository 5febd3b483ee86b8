// SPDX-License-Identifier: Apache-2.0
// Programs whose one holder is known, searched from outside while they run.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <regex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "process/open_memory.h"
#include "runtimes/go/retention/goroutine_counts.h"
#include "runtimes/go/retention/holders.h"
#include "runtimes/go/retention/image.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw::go::retention {
namespace {

using test::GoProcess;
using testing::HasSubstr;

// What keeps the memory of one mode of tests/workloads/go-holders.
struct Truth {
  const char* mode;
  const char* root;    // pattern of the first holder's root
  const char* object;  // pattern in the rest of its chain; from Go 1.22 on, whose objects know their types
};

constexpr Truth kTruths[] = {
    {"map", "^global (main.sessions|used by .*main.remember)",
     "map\\[string\\]\\*main.session.* -> main.session.data -> bytes"},
    {"closure", "^goroutine main.startBatcher.func1", "\\[\\]\\*main.record -> main.record.body -> bytes"},
    {"channel", "^goroutine main.(holdChannel|main|\\(\\*server\\).work)", "chan \\*main.job -> \\[\\]\\*main.job"},
    {"list", "^goroutine main.main", "main.queue.head -> main.item"},
    {"pool", "^global .*(main.buffers|main.holdPool)", "main.buffer.b -> bytes"},
    {"timer", "^timers of the scheduler", "closure main.remind.func1"},
    {"goroutines", "^goroutine main.*handle", "bytes"},
    {"tree", "^global (main.woods|used by main.holdTree)", "main.node"},
    {"context", "^goroutine main.*serveContext", "context.valueCtx"},
    {"cache", "^global (main.pages|used by .*main.(holdCache|init))", "map\\[int\\]\\[\\]uint8"},
    {"syncmap", "^global (main.shared|used by .*main.holdSyncMap)", "main.session"},
    {"elements", "^global (main.elements|used by .*main.holdElements)", "main.record.body"},
    {"atomic", "^global (main.current|used by .*main.holdAtomic)", "main.snapshot.parts"},
    {"slice", "^global (main.log|used by main.holdSlice)", "bytes"},
    {"spokes", "^goroutine main.main in main.holdSpokes", "\\[\\]\\*main.spoke -> main.spoke.data -> bytes"},
    {"finalizers", "^a finalizer", "closure main.finish.func1"},
    {"longlist", "^global (main.longest|used by main.holdLongList)", "bytes"},
    {"mailboxes", "^global (main.mailboxes|used by .*main.(holdMailboxes|init))", "chan \\*main.parcel"},
    // Where the list's two ends lead to half of it each, the chain ends with them.
    {"recent", "^global (main.thumbnails|used by .*main.(holdRecent|init))",
     "main.entry.*bytes|list.List \\| .root.(next|prev) -> container/list.Element \\| .root.(next|prev)"},
    {"ring", "^global (main.history|used by .*main.holdRing)", "main.ring.slots.* -> bytes"},
    {"writers", "^goroutine main.(holdWriters.func1 in main.)?\\(\\*subscriber\\).stream -> ", "bytes"},
    {"tenants", "^global (main.tenants|used by .*main.(holdTenants|init))",
     "map\\[string\\]\\*main.tenant.* -> .*map\\[string\\]\\[\\]uint8"},
    {"subscribers", "^global (main.events|used by .*main.(open|init))", "closure main.open.func1 -> bytes"},
    {"retries", "^goroutine main.(holdRetries.func1 in main.)?\\(\\*deliverer\\).run",
     "\\[\\]\\*main.retry -> main.retry.body -> bytes"},
    {"dropped", "^global (main.stock|used by .*main.(holdDropped|init))", "bytes"},
    {"deferred", "^goroutine main.main in main.holdDeferred", "main.crate.goods -> bytes"},
    {"pointed", "^global (main.books|used by .*main.holdPointed)", "bytes"},
};

std::string chain_of(const Holder& holder) {
  std::string text = holder.root;
  for (const HolderStep& step : holder.steps) text += step.field + " -> " + step.object;
  for (const HolderStep& step : holder.branches) text += " | " + step.field + " -> " + step.object;
  return text;
}

std::string describe(const Result<Holders>& found) {
  if (!found.has_value()) return found.error().message;
  std::string text = found->is_named ? "named" : "not named: " + found->why_not_named;
  for (const Holder& h : found->holders) text += "\n  " + std::to_string(h.share) + " " + chain_of(h);
  return text + "\n  rooted " + std::to_string(found->rooted_share) + ", " + std::to_string(found->objects) +
         " objects, " + std::to_string(found->passes) + " passes, layout " + found->layout;
}

// A mode of the program, held and ready to be searched.
class Program {
 public:
  Program(const std::string& path, const char* mode) : process_(start(path, mode)) {
    const auto image = read_process_image(process_.pid());
    const auto binary = test::inspect_path("/proc/" + std::to_string(process_.pid()) + "/exe");
    if (image.has_value() && binary.has_value()) load_bias_ = image->entry - binary->entry;
    const std::string directory = "/proc/" + std::to_string(process_.pid());
    pagemap_ = UniqueFd(::open((directory + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    executable_ = UniqueFd(::open((directory + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
  }

  [[nodiscard]] bool is_ready() const { return process_.is_ready(); }
  [[nodiscard]] int pid() const { return process_.pid(); }

  Result<Holders> search(const HolderLimits& limits, const ByteSource* memory = nullptr) {
    const ProcessMemory own(process_.pid());
    const FdSource pagemap(pagemap_.get()), executable(executable_.get());
    return find_holders({memory ? *memory : own, pagemap, executable, load_bias_}, SystemClock(), limits);
  }

  Result<GoroutineCounts> count() {
    const ProcessMemory memory(process_.pid());
    const FdSource pagemap(pagemap_.get()), executable(executable_.get());
    return count_goroutines({memory, pagemap, executable, load_bias_}, SystemClock(),
                            HolderLimits{.budget = std::chrono::seconds(60)});
  }

 private:
  static const std::string& start(const std::string& path, const char* mode) {
    ::setenv("HOLD", mode, 1);
    return path;
  }
  GoProcess process_;
  std::uint64_t load_bias_ = 0;
  UniqueFd pagemap_, executable_;
};

#define OOMW_BUILD_HOLDERS_OR_SKIP(variable)                                         \
  const auto variable = ::oomw::go::test::go_program("1.19", "strip", "go-holders"); \
  if (variable.path.empty()) GTEST_SKIP() << variable.reason

HolderLimits patient() {
  HolderLimits limits;
  limits.budget = std::chrono::seconds(60);  // this machine may be busy with other tests
  return limits;
}

// The whole promise: the right holder is named; a reading that came too early may name none, but never a wrong one.
void expect_right_holder(const std::string& version, const std::string& variant, const Truth& truth) {
  const auto program = test::go_program(version, variant, "go-holders");
  if (program.path.empty()) GTEST_SKIP() << program.reason;
  // Objects have no types there. Timers hang on the processors that started them, and where two have half of them each
  // none is named (docs/limits.md): the program would be moved from one to the other on a busy machine only.
  const bool has_types = version != "1.19" && version != "1.21";
  const bool is_on_one = !has_types && std::string_view(truth.mode) == "timer";
  is_on_one ? ::setenv("GOMAXPROCS", "1", 1) : ::unsetenv("GOMAXPROCS");
  Program held(program.path, truth.mode);
  ASSERT_TRUE(held.is_ready());
  Result<Holders> found = fail(ErrorCode::kInternal, "");
  for (int attempt = 0; attempt < 3 && !(found.has_value() && found->is_named); ++attempt) {
    HolderLimits limits = patient();
    limits.seed = static_cast<std::uint64_t>(attempt) + 1;
    found = held.search(limits);
    if (!found.has_value() || !found->is_named) continue;
    const std::string chain = chain_of(found->holders.front());
    EXPECT_TRUE(std::regex_search(chain, std::regex(truth.root))) << describe(found);
  }
  ASSERT_TRUE(found.has_value() && found->is_named) << describe(found);
  // Some times the heap: a block for each of 600,000 objects would be gigabytes.
  EXPECT_LT(found->bytes_read, 256U << 20) << describe(found);
  if (!has_types) return;
  EXPECT_TRUE(std::regex_search(chain_of(found->holders.front()), std::regex(truth.object))) << describe(found);
}

std::string name_of(const Truth& truth) { return truth.mode; }

class Holder119 : public testing::TestWithParam<Truth> {};
TEST_P(Holder119, is_named) { expect_right_holder("1.19", "strip", GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Holder119, testing::ValuesIn(kTruths), [](const auto& i) { return name_of(i.param); });

class HolderMatrix : public testing::TestWithParam<std::tuple<const char*, Truth>> {};
TEST_P(HolderMatrix, is_named) { expect_right_holder(std::get<0>(GetParam()), "strip", std::get<1>(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, HolderMatrix,
                         testing::Combine(testing::Values("1.21", "1.22", "1.24", "1.26", "1.27"),
                                          testing::ValuesIn(kTruths)),
                         [](const auto& i) {
                           return std::string("go1_") + (std::get<0>(i.param) + 2) + "_" +
                                  name_of(std::get<1>(i.param));
                         });

// How much waits in a program whose heap lies still, "" where nothing was counted.
std::string queue_of(const std::string& version, const char* mode) {
  const auto program = test::go_program(version, "strip", "go-holders");
  if (program.path.empty()) return "";
  Program held(program.path, mode);
  if (!held.is_ready()) return "not ready";
  const auto found = held.search(patient());
  if (!found.has_value() || !found->is_named || !found->holders.front().queue) return describe(found);
  const Queue& queue = *found->holders.front().queue;
  return std::to_string(queue.length) + (queue.is_channel ? " in a channel of " : " in a list of ") + queue.item;
}

// A worker has taken one job.
TEST(Holders, what_waits_in_a_channel_is_counted) {
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  EXPECT_EQ(queue_of("1.19", "channel"), "11999 in a channel of *main.job");
}

class QueueMatrix : public testing::TestWithParam<const char*> {};
TEST_P(QueueMatrix, lists_are_counted_to_their_end) {
  const auto program = test::go_program(GetParam(), "strip", "go-holders");
  if (program.path.empty()) GTEST_SKIP() << program.reason;
  EXPECT_EQ(queue_of(GetParam(), "list"), "12000 in a list of main.item");
  EXPECT_EQ(queue_of(GetParam(), "context"), "12000 in a list of context.valueCtx");
  EXPECT_EQ(queue_of(GetParam(), "channel"), "11999 in a channel of *main.job");
  EXPECT_THAT(queue_of(GetParam(), "map"), testing::Not(HasSubstr(" in a ")));
}
INSTANTIATE_TEST_SUITE_P(All, QueueMatrix, testing::Values("1.22", "1.24", "1.26", "1.27"),
                         [](const auto& i) { return std::string("go1_") + (i.param + 2); });

TEST(Holders, unstripped_program_names_the_variable) {
  expect_right_holder("1.19", "plain", {"map", "^global main.sessions", ""});
}
TEST(Holders, position_independent_program_is_read_too) { expect_right_holder("1.19", "pie-strip", kTruths[0]); }
TEST(Holders, without_a_heap_profile_live_objects_are_sampled_at_random) {
  expect_right_holder("1.19", "strip-nopprof", kTruths[3]);
}

TEST(Holders, search_that_may_hold_too_few_objects_names_nobody) {
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  Program held(program.path, "list");
  HolderLimits limits = patient();
  limits.max_nodes = 1000;
  const auto found = held.search(limits);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE(found->is_named);
  EXPECT_THAT(found->why_not_named, HasSubstr("more objects than the search may hold"));
}

TEST(Holders, search_without_time_names_nobody) {
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  Program held(program.path, "list");
  const auto found = held.search(HolderLimits{.budget = Nanoseconds(0)});
  EXPECT_TRUE(!found.has_value() || !found->is_named) << describe(found);
}

// Memory that changes under the reader, or lies: one word in `one_in` reads as another place of the heap.
class LyingMemory final : public ByteSource {
 public:
  LyingMemory(int pid, std::uint64_t seed, std::uint64_t one_in) : memory_(pid), seed_(seed), one_in_(one_in) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    ASSIGN_OR_RETURN(const std::size_t n, memory_.read_some(address, out));
    for (std::size_t i = (8 - address % 8) % 8; i + 8 <= n; i += 8) {
      const std::uint64_t hash = ((address + i + seed_) * 0x9e3779b97f4a7c15U) >> 20;
      if (hash % one_in_ != 0) continue;
      const std::uint64_t lie = hash % 3 == 0 ? 0xc000000000 + (hash % (24U << 20)) / 8 * 8 : hash;
      std::memcpy(out.data() + i, &lie, sizeof(lie));
    }
    return n;
  }

 private:
  ProcessMemory memory_;
  std::uint64_t seed_, one_in_;
};

TEST(Holders, forged_and_torn_structures_never_name_a_wrong_one) {
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  Program held(program.path, "list");
  ASSERT_TRUE(held.is_ready());
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const std::uint64_t one_in = seed % 3 == 0 ? 50 : seed % 3 == 1 ? 1000 : 100'000;
    const LyingMemory lying(held.pid(), seed * 7919, one_in);
    HolderLimits limits = patient();
    limits.budget = std::chrono::seconds(5);
    limits.seed = seed;
    const auto found = held.search(limits, &lying);
    if (!found.has_value() || !found->is_named) continue;
    ++named;
    EXPECT_THAT(found->holders.front().root, HasSubstr("goroutine main.main")) << describe(found);
  }
  RecordProperty("named", named);
}

// One word that reads as `value`: a global variable that never was. The same each time, so verification sees nothing.
class ForgedWord final : public ByteSource {
 public:
  ForgedWord(int pid, std::uint64_t address, std::uint64_t value) : memory_(pid), address_(address), value_(value) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    ASSIGN_OR_RETURN(const std::size_t n, memory_.read_some(address, out));
    const auto forged = std::as_bytes(std::span(&value_, 1));
    for (std::size_t i = 0; i < forged.size(); ++i) {
      if (address_ + i - address < n) out[address_ + i - address] = forged[i];
    }
    return n;
  }

 private:
  ProcessMemory memory_;
  std::uint64_t address_, value_;
};

// An element of the mode "list" with thousands before and behind it, 0 if none was found. Its elements are
// {value, next}, 16 bytes each, and nothing else in the program is a chain as long.
std::uint64_t middle_of_list(int pid) {
  constexpr std::uint64_t kArena = 0xc000000000, kBytes = 64U << 20, kElement = 16;
  constexpr std::size_t kBefore = 2000, kFewest = 8000, kMost = 12'000;
  std::vector<std::uint64_t> words(kBytes / 8);
  const ProcessMemory memory(pid);
  for (std::uint64_t at = 0; at < kBytes; at += 1U << 20) {  // up to where the heap ends
    const auto part = std::as_writable_bytes(std::span(words)).subspan(at, 1U << 20);
    if (!memory.read_some(kArena + at, part).has_value()) break;
  }
  for (std::uint64_t start = 0; start < kBytes; start += kElement) {
    std::uint64_t at = start, middle = 0;
    std::size_t length = 0;
    for (; at < kBytes && at % kElement == 0 && length <= kMost; ++length) {
      if (length == kBefore) middle = kArena + at;
      at = words[at / 8 + 1] - kArena;
    }
    if (length >= kFewest && length <= kMost) return middle;
  }
  return 0;
}

// Variables of the program and of the runtime, and words that no code uses.
TEST(Holders, forged_global_into_the_middle_of_a_list_is_not_its_owner) {
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  Program held(program.path, "list");
  ASSERT_TRUE(held.is_ready());
  const std::uint64_t middle = middle_of_list(held.pid());
  ASSERT_NE(middle, 0U);
  const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));
  const FdSource executable(fd.get());
  const auto image = Image::open(executable, 0);
  ASSERT_TRUE(image.has_value());
  constexpr std::uint64_t kWords = 6;
  int named = 0;
  for (const elf::AddressRange& range : {(*image)->data(), (*image)->bss()}) {
    for (std::uint64_t i = 0; i < kWords; ++i) {
      const std::uint64_t address = (range.begin + (range.end - range.begin) * i / kWords) / 8 * 8;
      const ForgedWord forged(held.pid(), address, middle);
      const auto found = held.search(patient(), &forged);
      if (!found.has_value() || !found->is_named) continue;
      ++named;
      EXPECT_THAT(found->holders.front().root, HasSubstr("goroutine main.main"))
          << std::hex << address << ": " << describe(found);
    }
  }
  EXPECT_GT(named, 0);
}

TEST(GoroutineCounts, leaked_goroutines_are_one_group_with_their_place) {
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  Program held(program.path, "goroutines");
  ASSERT_TRUE(held.is_ready());
  const auto counts = held.count();
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  ASSERT_FALSE(counts->groups.empty());
  const GoroutineGroup& most = counts->groups.front();
  EXPECT_EQ(most.count, 1500U);
  EXPECT_EQ(most.state, GoroutineState::kWaiting);
  EXPECT_THAT(most.blocked_in, HasSubstr("runtime.chansend"));
  EXPECT_EQ(most.function, "main.handle");
  EXPECT_EQ(most.created_by, "main.holdGoroutines");
  EXPECT_GE(counts->total, 1504U);
}

// By what they wait for, as the kernel will read it.
std::map<std::string, int> waiting_in(int pid, const GoroutineList& list) {
  std::map<std::string, int> waiting;
  const ProcessMemory process(pid);
  CachedReader memory(process, 64U << 20);
  const auto slice = memory.get<std::array<std::uint64_t, 2>>(list.address);
  if (!slice.has_value()) return waiting;
  for (std::uint64_t i = 0; i < (*slice)[1]; ++i) {
    const std::uint64_t g = memory.get<std::uint64_t>((*slice)[0] + 8 * i).value_or(0);
    const std::uint32_t status = memory.get<std::uint32_t>(g + list.status_offset).value_or(0);
    const std::uint8_t reason = memory.get<std::uint8_t>(g + list.reason_offset).value_or(0);
    if ((status & 0xfff) == 4) ++waiting[list.wait_reasons.at(reason)];
  }
  return waiting;
}

void expect_countable(const std::string& version) {
  const auto program = test::go_program(version, "strip", "go-holders");
  if (program.path.empty()) GTEST_SKIP() << program.reason;
  Program held(program.path, "goroutines");
  ASSERT_TRUE(held.is_ready());
  const auto counts = held.count();
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  ASSERT_TRUE(counts->list.has_value()) << counts->why_no_list;
  // On a busy machine some are still on their way there.
  const std::map<std::string, int> wanted = {{"chan send", 1500}, {"chan receive", 1}, {"force gc (idle)", 1}};
  std::map<std::string, int> waiting;
  const auto all_wait = [&] {
    waiting = waiting_in(held.pid(), *counts->list);
    return std::ranges::all_of(wanted, [&](const auto& one) { return waiting[one.first] == one.second; });
  };
  for (int i = 0; i < 600 && !all_wait(); ++i) ::usleep(100'000);
  for (const auto& [reason, count] : wanted) EXPECT_EQ(waiting[reason], count) << reason;
}

TEST(CountableList, reasons_have_names_and_their_place_is_proved) { expect_countable("1.19"); }

class CountableListMatrix : public testing::TestWithParam<const char*> {};
TEST_P(CountableListMatrix, is_proved_for_each_version) { expect_countable(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, CountableListMatrix, testing::Values("1.21", "1.22", "1.24", "1.26", "1.27"),
                         [](const auto& i) { return std::string("go1_") + (i.param + 2); });

// Nothing of it is present: neither read nor charged.
TEST(Holders, pages_that_are_not_present_are_never_read) {
  class NothingPresent final : public ByteSource {
    [[nodiscard]] Result<std::size_t> read_some(std::uint64_t, std::span<std::byte> out) const override {
      std::fill(out.begin(), out.end(), std::byte{0});
      return out.size();
    }
  };
  class Untouchable final : public ByteSource {
    [[nodiscard]] Result<std::size_t> read_some(std::uint64_t, std::span<std::byte>) const override {
      ADD_FAILURE() << "memory was read";
      return 0;
    }
  };
  OOMW_BUILD_HOLDERS_OR_SKIP(program);
  const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));
  const FdSource executable(fd.get());
  const auto found = find_holders({Untouchable(), NothingPresent(), executable, 0}, SystemClock(), patient());
  EXPECT_FALSE(found.has_value());
}

}  // namespace
}  // namespace oomw::go::retention
