// SPDX-License-Identifier: Apache-2.0
// The frames of real interpreters of each version that is known, their names and lines read by a confined reader.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "growth/python_code.h"
#include "growth/python_stack.h"
#include "growth/unwound.h"
#include "process/open_memory.h"
#include "process/process_files.h"
#include "reader/reader.h"
#include "support/python_interpreter.h"
#include "unit/growth/sampled_program.h"

#if defined(__x86_64__)
namespace oomw {
namespace {

using growth::is_python_name;
using growth::merge_python;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// pause() by PyDLL keeps the interpreter's lock, as an allocation does. map() calls from C.
constexpr const char* kProgram = R"(import ctypes, os
class Cache:
    def store(self, n):
        os.write(1, b"\n")
        ctypes.PyDLL(None).pause()
        return n

def handle(n):
    return Cache().store(n)

list(map(handle, [1]))
)";

std::uint64_t word_of(int memory, std::uint64_t address) {
  std::uint64_t word = 0;
  (void)MemorySource(memory).read_some(address, std::as_writable_bytes(std::span<std::uint64_t, 1>(&word, 1)));
  return word;
}

// The parameter: 11 for Python 3.11.
class PythonSampleTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string python = test::python_interpreter("3." + std::to_string(GetParam()));
    if (python.empty()) GTEST_SKIP() << "no Python 3." << GetParam() << " here";
    program_ = std::make_unique<test::SampledProgram>(python, directory_.write("shop.py", kProgram));
    record_ = program_->sample();
    ASSERT_FALSE(record_.empty()) << "no sample could be taken";
    auto process = SampledProcess::open("/proc", {program_->pid(), 0});
    ASSERT_TRUE(process.has_value()) << process.error().message;
    process_.emplace(std::move(*process));
    memory_.reset(::open(("/proc/" + std::to_string(program_->pid()) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  }
  void unwind() {
    auto unwound = process_->unwind(record_, reader_, nullptr);
    ASSERT_TRUE(unwound.has_value()) << unwound.error().message;
    unwound_ = std::move(*unwound);
    names_.clear();
    for (const std::uint32_t i : unwound_.stacks.at(0).frames) {
      const GrowthFrame& frame = unwound_.frames[i];
      names_.push_back(frame.function + (frame.is_managed ? "@" + frame.file + ":" + std::to_string(frame.line) : ""));
    }
  }
  // As the kernel's program does.
  void copy_python_frames() {
    const PythonLayout layout = process_->python();
    ASSERT_NE(layout.thread_state, 0u);
    oomw_growth_sample head{};
    std::memcpy(&head, record_.data(), sizeof head);
    const std::uint64_t thread = word_of(memory_.get(), layout.thread_state);
    EXPECT_EQ(word_of(memory_.get(), thread + layout.id_of_thread), program_->thread_pointer());
    std::uint64_t frame = word_of(memory_.get(), thread + layout.frame_of_thread);
    if (layout.has_cframe) frame = word_of(memory_.get(), frame + layout.frame_of_cframe);
    for (; frame != 0 && head.python_frames < OOMW_GROWTH_PYTHON_MAX; ++head.python_frames) {
      head.python[head.python_frames] = {word_of(memory_.get(), frame + layout.code_of_frame),
                                         word_of(memory_.get(), frame + layout.instruction_of_frame)};
      frame = word_of(memory_.get(), frame + layout.previous_of_frame);
    }
    std::memcpy(record_.data(), &head, sizeof head);
  }
  [[nodiscard]] std::vector<std::string> python_names() const {
    std::vector<std::string> names = names_;
    std::erase_if(names, [](const std::string& name) { return name.find('@') == std::string::npos; });
    return names;
  }
  // Code has its class's name from 3.11 on.
  [[nodiscard]] static std::string store() { return GetParam() < 11 ? "store@shop.py:5" : "Cache.store@shop.py:5"; }

  test::ProgramDirectory directory_;
  SystemClock clock_;
  reader::Reader reader_{clock_};
  std::unique_ptr<test::SampledProgram> program_;
  std::optional<SampledProcess> process_;
  UniqueFd memory_;
  std::vector<std::byte> record_;
  UnwoundSamples unwound_;
  std::vector<std::string> names_;
};

TEST_P(PythonSampleTest, frames_when_copied_have_the_programs_names_files_and_lines) {
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_EQ(unwound_.python_version, 0x0300u + static_cast<unsigned>(GetParam()));
  EXPECT_THAT(names_, Contains("_PyEval_EvalFrameDefault"));
  ASSERT_NO_FATAL_FAILURE(copy_python_frames());
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_THAT(python_names(), ElementsAre(store(), "handle@shop.py:9", "<module>@shop.py:11"));
  EXPECT_THAT(names_, Not(Contains("_PyEval_EvalFrameDefault")));
  EXPECT_EQ(names_.front(), "pause");
  EXPECT_TRUE(std::ranges::none_of(unwound_.frames, &GrowthFrame::is_library));
  const auto handle = std::ranges::find(unwound_.frames, "handle", &GrowthFrame::function);
  ASSERT_NE(handle, unwound_.frames.end());
  EXPECT_THAT(handle->uses, ElementsAre("Cache", "store"));
  EXPECT_EQ(names_.back(), "_start");
}

TEST_P(PythonSampleTest, frames_when_the_process_has_died_are_named_by_what_was_read_before) {
  ASSERT_NO_FATAL_FAILURE(unwind());
  ASSERT_NO_FATAL_FAILURE(copy_python_frames());
  ASSERT_NO_FATAL_FAILURE(unwind());
  program_->end();
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_THAT(python_names(), ElementsAre(store(), "handle@shop.py:9", "<module>@shop.py:11"));
}

TEST_P(PythonSampleTest, frames_when_not_copied_are_the_interpreters_own) {
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_TRUE(python_names().empty());
  EXPECT_THAT(names_, Contains("_PyEval_EvalFrameDefault"));
}

TEST_P(PythonSampleTest, code_when_it_is_none_gives_no_name) {
  ASSERT_NO_FATAL_FAILURE(unwind());
  ASSERT_NO_FATAL_FAILURE(copy_python_frames());
  oomw_growth_sample head{};
  std::memcpy(&head, record_.data(), sizeof head);
  head.python[0].code = word_of(memory_.get(), process_->python().thread_state);
  std::memcpy(record_.data(), &head, sizeof head);
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_THAT(python_names(), ElementsAre("[python]@:0", "handle@shop.py:9", "<module>@shop.py:11"));
}

const auto kName = [](const auto& version) { return "of_3_" + std::to_string(version.param); };
INSTANTIATE_TEST_SUITE_P(System, PythonSampleTest, ::testing::Values(11), kName);
INSTANTIATE_TEST_SUITE_P(Matrix, PythonSampleTest, ::testing::Values(8, 9, 10, 12, 13), kName);

TEST(PythonNames, name_when_no_identifier_is_none) {
  EXPECT_TRUE(is_python_name("main.<locals>.<lambda>"));
  EXPECT_FALSE(is_python_name(""));
  EXPECT_FALSE(is_python_name("a..b"));
  EXPECT_FALSE(is_python_name("card 4711"));
  EXPECT_FALSE(is_python_name("<secret>"));
}

TEST(PythonNames, path_of_an_installed_package_is_a_librarys) {
  EXPECT_TRUE(growth::is_library_path("/usr/lib/python3.11/json/decoder.py"));
  EXPECT_TRUE(growth::is_library_path("/app/venv/site-packages/flask/app.py"));
  EXPECT_TRUE(growth::is_library_path("<frozen runpy>"));
  EXPECT_FALSE(growth::is_library_path("/app/shop.py"));
}

TEST(PythonLines, table_when_cut_or_passed_gives_no_line) {
  // Three units at line 7 (short form), then one unit two lines up (no columns: -2 is 5).
  const growth::PythonCode code{"f", "a.py", 7, 1000, std::string("\x82\x00\xe8\x05", 4)};
  EXPECT_EQ(growth::line_of(code, 998), 7u);
  EXPECT_EQ(growth::line_of(code, 1004), 7u);
  EXPECT_EQ(growth::line_of(code, 1006), 5u);
  EXPECT_EQ(growth::line_of(code, 1008), 0u);
  EXPECT_EQ(growth::line_of({"f", "a.py", 7, 1000, "\xe8"}, 1000), 7u);
}

// Up to 3.10 instructions are counted: 3.8 by bytes, 3.10 by two of them. The high half is the frame's next field.
TEST(PythonLines, tables_of_older_versions_give_lines_too) {
  growth::PythonCode code{"f", "a.py", 7, 0, std::string("\x04\x01\x06\xfe", 4)};
  code.lines = growth::PythonLines::kSteps;  // from byte 4 on line 8, from byte 10 on line 6
  EXPECT_EQ(growth::line_of(code, 0xffffffff), 7u);
  EXPECT_EQ(growth::line_of(code, 3), 7u);
  EXPECT_EQ(growth::line_of(code, 0x2a'00000004), 8u);
  EXPECT_EQ(growth::line_of(code, 10), 6u);
  code.lines = growth::PythonLines::kRanges;  // 4 bytes of line 8, 6 bytes of line 6
  EXPECT_EQ(growth::line_of(code, 0xffffffff), 8u);
  EXPECT_EQ(growth::line_of(code, 1), 8u);
  EXPECT_EQ(growth::line_of(code, 2), 6u);
  EXPECT_EQ(growth::line_of(code, 5), 0u);
  code.line_table = std::string("\x04\x80\x02\x01\x02", 5);  // 4 bytes without a line
  EXPECT_EQ(growth::line_of(code, 0), 0u);
  EXPECT_EQ(growth::line_of(code, 2), 8u);
  EXPECT_EQ(growth::line_of(code, 3), 0u);
}

TEST(PythonStack, stack_without_an_evaluation_loop_keeps_its_native_frames) {
  GrowthFrame native, python;
  native.function = "worker";
  python.function = "handle";
  EXPECT_EQ(merge_python({native}, {python}), std::vector<GrowthFrame>{native});
}

}  // namespace
}  // namespace oomw
#endif
