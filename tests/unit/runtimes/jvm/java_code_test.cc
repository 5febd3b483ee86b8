// SPDX-License-Identifier: Apache-2.0
// Which functions run at an instruction of a JVM's compiled code, in memory that may be forged.
#include "runtimes/jvm/java_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/runtimes/jvm/fake_java_code.h"

namespace oomw {
namespace {

using test::FakeJavaCode;
using test::FakeJvm;
using testing::ElementsAre;

class JavaCodeOf : public testing::TestWithParam<FakeJvm::Java> {
 protected:
  // Innermost first; "?" for one without a name, "-" where there is no code.
  [[nodiscard]] std::vector<std::string> functions_at(std::uint64_t pc, bool is_exact = false) const {
    std::vector<std::string> names;
    const auto done = jvm.with_code([&](const jvm::Jvm& open, const jvm::JavaCode& code) {
      const auto blob = code.blob_at(open, pc);
      if (!blob.has_value()) return names.emplace_back("-"), void();
      for (const std::uint64_t method : code.methods_at(open, *blob, pc, is_exact)) {
        names.push_back(code.method_name(open, method).value_or("?"));
      }
    });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return names;
  }
  std::uint64_t instruction(std::uint64_t at) const { return block + 8 + FakeJavaCode::kCodeAt + at; }

  FakeJavaCode jvm{GetParam()};
  std::uint64_t put = jvm.add_method("shop/Cart", "put"), grow = jvm.add_method("shop/Items", "grow");
  std::uint64_t run = jvm.add_method("shop/Server$$Lambda+0x00007f3a", "run");
  std::uint64_t block = jvm.add_compiled(run, {{-1, {}}, {20, {run}}, {40, {run, put, grow}}, {60, {run, put}}});
};

TEST_P(JavaCodeOf, inlined_functions_are_told_innermost_first) {
  EXPECT_THAT(functions_at(instruction(20)), ElementsAre("shop.Server$$Lambda.run"));
  EXPECT_THAT(functions_at(instruction(40)),
              ElementsAre("shop.Items.grow", "shop.Cart.put", "shop.Server$$Lambda.run"));
}

TEST_P(JavaCodeOf, a_return_address_without_a_place_of_its_own_is_of_other_code) {
  EXPECT_THAT(functions_at(instruction(41)), ElementsAre());
  EXPECT_THAT(functions_at(instruction(61)), ElementsAre());
  block = jvm.add_compiled(run, {{-1, {}}, {1000, {}}});
  EXPECT_THAT(functions_at(instruction(41)), ElementsAre("shop.Server$$Lambda.run")) << "code that has no places";
}

TEST_P(JavaCodeOf, of_an_interrupted_instruction_is_told_what_the_places_around_it_agree_on) {
  EXPECT_THAT(functions_at(instruction(41), true), ElementsAre("shop.Cart.put", "shop.Server$$Lambda.run"));
  EXPECT_THAT(functions_at(instruction(30), true), ElementsAre("shop.Server$$Lambda.run"));
  EXPECT_THAT(functions_at(instruction(61), true), ElementsAre("shop.Server$$Lambda.run")) << "behind the last place";
}

TEST_P(JavaCodeOf, both_forms_of_its_numbers_are_read) {
  block = jvm.add_compiled(run, {{-1, {}}, {40, {run, put}}, {1000, {}}}, true);
  EXPECT_THAT(functions_at(instruction(40)), ElementsAre("shop.Cart.put", "shop.Server$$Lambda.run"));
}

TEST_P(JavaCodeOf, a_chain_that_does_not_end_at_the_codes_own_function_is_not_believed) {
  block = jvm.add_compiled(run, {{-1, {}}, {40, {put, grow}}, {1000, {}}});
  EXPECT_THAT(functions_at(instruction(40)), ElementsAre("shop.Server$$Lambda.run"));
}

TEST_P(JavaCodeOf, the_frame_and_where_it_stands_are_those_of_the_block) {
  const auto done = jvm.with_code([&](const jvm::Jvm& open, const jvm::JavaCode& code) {
    const auto blob = code.blob_at(open, block + 5 * FakeJavaCode::kSegment + 1);
    ASSERT_TRUE(blob.has_value()) << blob.error().message;
    EXPECT_EQ(blob->span.begin, block);
    EXPECT_EQ(blob->span.end, block + 6 * FakeJavaCode::kSegment);
    EXPECT_EQ(blob->frame_bytes, 32u);
    EXPECT_EQ(blob->ready, instruction(12));
    EXPECT_EQ(blob->method, run);
    EXPECT_TRUE(code.interpreter().contains(jvm.code));
    EXPECT_FALSE(code.interpreter().contains(block));
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
}

TEST_P(JavaCodeOf, code_that_was_given_up_or_forged_is_none) {
  EXPECT_THAT(functions_at(jvm.code + 100 * FakeJavaCode::kSegment), ElementsAre("-")) << "free";
  EXPECT_THAT(functions_at(jvm.code - 8), ElementsAre("-")) << "elsewhere";
  jvm.put(jvm.segments + (block - jvm.code) / FakeJavaCode::kSegment + 5, std::uint8_t{200});
  EXPECT_THAT(functions_at(block + 5 * FakeJavaCode::kSegment), ElementsAre("-")) << "before the first segment";
  jvm.put(block + 8, std::int32_t{1 << 24});
  EXPECT_THAT(functions_at(instruction(40)), ElementsAre("-")) << "a frame of 128 MiB";
  jvm.put(block + 8, std::int32_t{4});
  jvm.put(block + 4, std::uint8_t{0});
  EXPECT_THAT(functions_at(instruction(40)), ElementsAre("-")) << "not in use";
}

TEST_P(JavaCodeOf, a_function_counts_only_if_it_leads_to_a_class) {
  jvm.put(block + 8 + 24, jvm.code);
  EXPECT_THAT(functions_at(instruction(40)), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(All, JavaCodeOf, testing::Values(FakeJvm::Java::k8, FakeJvm::Java::k17, FakeJvm::Java::k25),
                         [](const auto& tested) {
                           return tested.param == FakeJvm::Java::k8    ? "java8"
                                  : tested.param == FakeJvm::Java::k17 ? "java17"
                                                                       : "java25";
                         });

}  // namespace
}  // namespace oomw
