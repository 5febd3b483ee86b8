// SPDX-License-Identifier: Apache-2.0
// What was known of a Java process before: for one that died, and for no other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "growth/java_stack.h"
#include "growth/known_processes.h"
#include "unit/runtimes/jvm/fake_java_code.h"

namespace oomw::growth {
namespace {

using test::FakeJavaCode;
using testing::ElementsAre;

class KnownJavaTest : public testing::Test {
 protected:
  // In a batch of its own.
  [[nodiscard]] std::vector<std::string> functions_at(std::uint64_t pc) { return functions_in(jvm.bytes(), pc); }
  [[nodiscard]] std::vector<std::string> functions_when_gone(std::uint64_t pc) { return functions_in({}, pc); }
  [[nodiscard]] std::vector<std::string> functions_in(const std::vector<std::byte>& bytes, std::uint64_t pc) {
    const SpanSource memory(bytes, FakeJavaCode::kBase);
    JavaStack stack(known, jvm.symbols, memory, memory);
    std::vector<std::string> functions;
    for (const GrowthFrame& frame : stack.frames_at(pc, false, 0)) functions.push_back(frame.function);
    return functions;
  }
  [[nodiscard]] bool has_step(const std::vector<std::byte>& bytes, std::uint64_t pc) {
    const SpanSource memory(bytes, FakeJavaCode::kBase);
    JavaStack stack(known, jvm.symbols, memory, memory);
    elf::Registers registers{};
    registers[elf::kIp] = pc + 1;
    registers[elf::kSp] = 0x7000;
    const std::vector<std::byte> copy(256);
    return stack.step(registers, false, {0x7000, copy, false}).has_value();
  }
  [[nodiscard]] std::uint64_t call(std::uint64_t at) const { return block + 8 + FakeJavaCode::kCodeAt + at; }

  FakeJavaCode jvm;
  KnownJava known;
  std::uint64_t run = jvm.add_method("shop/Server", "run"), put = jvm.add_method("shop/Cart", "put");
  std::uint64_t block = jvm.add_compiled(run, {{-1, {}}, {40, {run, put}}, {1000, {}}});
};

TEST_F(KnownJavaTest, a_process_that_died_is_told_by_what_was_read) {
  EXPECT_THAT(functions_when_gone(call(40)), ElementsAre());
  EXPECT_THAT(functions_at(call(40)), ElementsAre("shop.Cart.put()", "shop.Server.run()"));
  EXPECT_THAT(functions_when_gone(call(40)), ElementsAre("shop.Cart.put()", "shop.Server.run()"));
  EXPECT_TRUE(has_step(jvm.bytes(), call(40)));
  EXPECT_TRUE(has_step({}, call(40)));
}

TEST_F(KnownJavaTest, one_that_lives_is_told_as_it_is_now_or_not_at_all) {
  EXPECT_THAT(functions_at(call(40)), testing::SizeIs(2));
  jvm.put(block + 4, std::uint8_t{0});
  EXPECT_THAT(functions_at(call(40)), ElementsAre());
  EXPECT_FALSE(has_step(jvm.bytes(), call(40)));
}

TEST_F(KnownJavaTest, a_function_whose_name_cannot_be_read_keeps_its_place) {
  jvm.put(put + 8, std::uint64_t{0});
  EXPECT_THAT(functions_at(call(40)), ElementsAre("[java]", "shop.Server.run()"));
}

TEST_F(KnownJavaTest, code_in_the_place_of_other_code_ends_that) {
  constexpr std::uint64_t kSegment = FakeJavaCode::kSegment;
  const std::uint64_t other = block + 3 * kSegment, segments = jvm.segments + (block - jvm.code) / kSegment;
  EXPECT_TRUE(has_step(jvm.bytes(), block + kSegment));
  // The block ends earlier, and behind it there is another one.
  jvm.put(block, std::uint32_t{3});
  jvm.put(other, std::uint32_t{3});
  jvm.put(other + 4, std::uint8_t{1});
  jvm.put(other + 8, std::int32_t{4});
  jvm.put(other + 16, static_cast<std::int32_t>(FakeJavaCode::kCodeAt));
  for (std::uint8_t i = 0; i < 3; ++i) jvm.put(segments + 3 + i, i);
  EXPECT_TRUE(has_step(jvm.bytes(), other + kSegment));
  EXPECT_EQ(known.blobs.size(), 1u);
  EXPECT_TRUE(has_step({}, other + kSegment));
  EXPECT_FALSE(has_step({}, block + kSegment)) << "what was known of the block is of another time";
}

TEST_F(KnownJavaTest, of_another_program_nothing_is_known) {
  EXPECT_THAT(functions_at(call(40)), testing::SizeIs(2));
  jvm.symbols.emplace("gHotSpotVMOther", 1);
  jvm.put(block + 4, std::uint8_t{0});
  EXPECT_THAT(functions_at(call(40)), ElementsAre());
  EXPECT_THAT(functions_when_gone(call(40)), ElementsAre());
}

TEST(KnownProcessesTest, those_that_were_sampled_last_are_known) {
  constexpr std::size_t kMost = 4;
  KnownProcesses<int, kMost> known;
  for (std::uint32_t pid = 1; pid <= kMost; ++pid) known.get({pid, 0}) = static_cast<int>(pid);
  EXPECT_EQ(known.get({1, 0}), 1);
  known.get({100, 0}) = 100;
  EXPECT_EQ(known.get({1, 0}), 1);
  EXPECT_EQ(known.get({100, 0}), 100);
  EXPECT_EQ(known.get({2, 0}), 0) << "the one that was sampled before all others";
  EXPECT_EQ(known.get({1, 7}), 0) << "another process of that number";
}

}  // namespace
}  // namespace oomw::growth
