// SPDX-License-Identifier: Apache-2.0
// On graphs that are made here; holders_live_test.cc has those of real programs.
#include "runtimes/go/retention/doubts.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw::go::retention {
namespace {

using testing::HasSubstr;

constexpr SpanLayout kLayout = {"of this test", 56, 8, 72, 98, 99, 104, 112, 128, 0, false};
constexpr std::uint64_t kVariable = 0x500000, kOther = 0x500008;  // global variables

// Eight spans, of which the first has elements of 16 bytes and the second objects of 32.
class Memory {
 public:
  Memory() {
    put(0, {kBase + 24, kSpans, kSpans});
    for (std::uint64_t i = 0; i < kSpans; ++i) {
      const std::uint64_t span = 24 + 8 * kSpans + i * kSpanBytes, start = 0xc000000000 + i * 8192;
      const std::uint64_t slot = i == 0 ? 16 : 32;
      put(24 + 8 * i, {kBase + span});
      put(span + 24, {start, 1});
      put(span + 56, {8192 / slot});
      put(span + 72, {kBase});  // bits: whichever
      bytes_[span + 98] = std::byte{static_cast<std::uint8_t>(slot / 4)};
      bytes_[span + 99] = std::byte{1};
      put(span + 104, {slot, start + 8192});
    }
  }
  [[nodiscard]] SpanTable spans() const {
    const SpanSource source(bytes_, kBase);
    CachedReader reader(source, 1U << 20);
    auto table = SpanTable::read({kBase, &kLayout, {}}, reader);
    EXPECT_TRUE(table.has_value()) << table.error().message;
    return std::move(*table);
  }

 private:
  static constexpr std::uint64_t kBase = 0x100000, kSpans = 8, kSpanBytes = 160;
  void put(std::uint64_t at, std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) {
      std::memcpy(bytes_.data() + at, &word, sizeof word);
      at += sizeof word;
    }
  }
  std::array<std::byte, 4096> bytes_{};
};

class Doubts : public testing::Test {
 protected:
  // Each holds one byte.
  std::uint32_t element() { return node(0); }
  std::uint32_t object() { return node(1); }
  void link(std::uint32_t from, std::uint32_t to) { add_edge(static_cast<std::int32_t>(from), to); }
  void root(std::uint64_t address, std::uint32_t to) {
    Root& root = graph_.roots.emplace_back();
    root.address = address;
    add_edge(~static_cast<std::int32_t>(graph_.roots.size() - 1), to);
  }
  [[nodiscard]] std::string_view doubt(std::string_view name = "main.items") const {
    const SpanTable spans = memory_.spans();
    const Children children(graph_);
    const std::unordered_set<std::uint64_t> schedulers;
    const DoubtfulGlobals doubtful;
    const Paths paths(graph_, children, spans, schedulers, doubtful);
    return doubt_about(kVariable, name, graph_, children, spans, paths);
  }

 private:
  std::uint32_t node(std::uint32_t span) {
    graph_.nodes.emplace_back().span = span;
    const auto number = static_cast<std::uint32_t>(graph_.nodes.size() - 1);
    graph_.samples.emplace_back(number, 1.0);
    return number;
  }
  void add_edge(std::int32_t from, std::uint32_t to) {
    graph_.edges.push_back({to, from, 0, 0, graph_.nodes[to].first_edge});
    graph_.nodes[to].first_edge = static_cast<std::uint32_t>(graph_.edges.size() - 1);
  }

  const Memory memory_;
  HeapGraph graph_;
};

TEST_F(Doubts, there_is_none_about_a_variable_that_leads_to_the_beginning_of_a_list) {
  const std::uint32_t first = element(), second = element();
  link(first, second);
  root(kVariable, first);
  EXPECT_EQ(doubt(), "");
  EXPECT_THAT(doubt(""), HasSubstr("no code of the program"));
  EXPECT_THAT(doubt("runtime.allgs"), HasSubstr("the runtime's own"));
}

TEST_F(Doubts, a_variable_that_leads_into_the_middle_of_anothers_list_is_doubtful) {
  const std::uint32_t first = element(), second = element(), third = element();
  link(first, second);
  link(second, third);
  root(kVariable, third);
  EXPECT_EQ(doubt(), "") << "nothing holds what is in front of it";
  root(kOther, first);
  EXPECT_THAT(doubt(), HasSubstr("into the middle of a list"));
  link(third, second);
  EXPECT_EQ(doubt(), "") << "linked both ways, it has all of it";
}

// 300,000 others refer to the ring: to go round it for as many steps as there are objects would take minutes.
TEST_F(Doubts, a_list_that_begins_with_a_ring_is_gone_round_once) {
  const std::uint32_t one = element(), other = element(), next = element(), last = element();
  link(one, other);
  link(other, one);
  link(one, next);
  link(next, last);
  for (int i = 0; i < 300'000; ++i) link(object(), one);
  root(kOther, one);
  root(kVariable, last);
  EXPECT_THAT(doubt(), HasSubstr("into the middle of a list"));
}

}  // namespace
}  // namespace oomw::go::retention
