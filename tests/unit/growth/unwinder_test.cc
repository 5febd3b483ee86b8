// SPDX-License-Identifier: Apache-2.0
#include "growth/unwinder.h"

#include <gtest/gtest.h>

#include "unit/growth/sampled_code.h"
#include "unit/growth/sampled_program.h"

namespace oomw::growth {
namespace {

#ifdef __x86_64__
// Says of any code that it was called by itself.
class WrongRunTime final : public RunTimeCode {
 public:
  int steps = 0;
  std::optional<Step> step(const elf::Registers& registers, bool /*is_exact*/,
                           const elf::StackCopy& /*stack*/) override {
    ++steps;
    Step step{registers, 42};
    step.caller[elf::kSp] += 8;
    return step;
  }
  std::vector<GrowthFrame> frames_at(std::uint64_t, bool, std::uint64_t) override { return {}; }
};

TEST(Unwinder, a_runtime_whose_frames_lead_nowhere_is_not_believed) {
  const test::ProgramDirectory directory;
  (void)directory.write("a.c", std::string(test::kStopHere) + R"(
void without_tables(void);
__asm__(".text\nwithout_tables: push %rbp\n mov %rsp, %rbp\n call stop_here\n pop %rbp\n ret\n");
int main(void) { without_tables(); return 0; }
)");
  ASSERT_TRUE(directory.run("gcc -O1 a.c -o a")) << directory.log();
  test::SampledProgram program(directory.path("a"));
  const std::vector<std::byte> record = program.sample();
  ASSERT_FALSE(record.empty()) << "no sample could be taken";
  WrongRunTime wrong;
  const test::SampledCode code(program.pid());
  const NativeStack expected = code.unwind(record), stack = code.unwind(record, &wrong);
  EXPECT_TRUE(expected.is_complete);
  EXPECT_TRUE(stack.is_complete);
  EXPECT_GT(wrong.steps, 0);
  ASSERT_EQ(stack.frames.size(), expected.frames.size());
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    EXPECT_EQ(stack.frames[i].pc, expected.frames[i].pc);
    EXPECT_EQ(stack.frames[i].method, 0u) << "it is the runtime's, too";
  }
}
#else
TEST(Unwinder, a_runtime_whose_frames_lead_nowhere_is_not_believed) { GTEST_SKIP() << "its program is x86-64 code"; }
#endif

}  // namespace
}  // namespace oomw::growth
