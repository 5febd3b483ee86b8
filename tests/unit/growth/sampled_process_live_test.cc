// SPDX-License-Identifier: Apache-2.0
// Stacks of real programs, compiled here in the ways that programs are, unwound and named by a confined reader.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "growth/unwound.h"
#include "reader/reader.h"
#include "unit/growth/sampled_program.h"

#if defined(__x86_64__)
namespace oomw {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Each keeps a frame of its own: no inlining, no tail calls.
constexpr const char* kC = R"(
#include <unistd.h>
#define APART __attribute__((noinline))
APART void wait_here(void) { if (write(1, "\n", 1) != 1) return; for (;;) pause(); }
APART int grow_cache(int n) { wait_here(); __asm__ volatile(""); return n + 1; }
APART int handle_report(int n) { int r = grow_cache(n + 1); __asm__ volatile(""); return r + 1; }
int main(int c, char** v) { (void)v; int r = handle_report(c); __asm__ volatile(""); return r; }
)";

class SampledProcessTest : public ::testing::Test {
 protected:
  void build(const std::string& command) { ASSERT_TRUE(directory_.run(command)) << directory_.log(); }
  void build_c(const std::string& flags) {
    (void)directory_.write("a.c", kC);
    build("gcc -O2 " + flags + " -o a a.c");
  }
  void start(const std::string& name = "a") {
    program_ = std::make_unique<test::SampledProgram>(directory_.path(name));
  }

  // The program is dead when its samples are named: that is what they are for.
  void unwind(std::size_t most = OOMW_GROWTH_STACK_MAX) {
    records_ = program_->sample(most);
    ASSERT_FALSE(records_.empty()) << "no sample could be taken";
    auto process = SampledProcess::open("/proc", {program_->pid(), 0});
    ASSERT_TRUE(process.has_value()) << process.error().message;
    program_->end();
    process_.emplace(std::move(*process));
    unwind_again();
  }
  void unwind_again() {
    auto unwound = process_->unwind(records_, reader_, nullptr);
    ASSERT_TRUE(unwound.has_value()) << unwound.error().message;
    unwound_ = std::move(*unwound);
    ASSERT_FALSE(unwound_.stacks.empty());
    names_.clear();
    for (const std::uint32_t i : unwound_.stacks.front().frames) names_.push_back(unwound_.frames[i].function);
  }
  // The functions of the program itself and what is between them.
  [[nodiscard]] std::vector<std::string> from(const std::string& name) const {
    return {std::ranges::find(names_, name), names_.end()};
  }
  [[nodiscard]] bool is_complete() const { return unwound_.stacks.front().is_complete; }
  void expect_the_three_callers() {
    EXPECT_TRUE(is_complete()) << testing::PrintToString(names_);
    std::vector<std::string> own = from("wait_here");
    own.resize(std::min<std::size_t>(own.size(), 4));
    EXPECT_THAT(own, ElementsAre("wait_here", "grow_cache", "handle_report", "main")) << testing::PrintToString(names_);
  }

  test::ProgramDirectory directory_;
  SystemClock clock_;
  reader::Reader reader_{clock_};
  std::unique_ptr<test::SampledProgram> program_;
  std::optional<SampledProcess> process_;
  std::vector<std::byte> records_;
  UnwoundSamples unwound_;
  std::vector<std::string> names_;
};

TEST_F(SampledProcessTest, c_program_when_dead_is_named_to_its_first_frame) {
  build_c("-fomit-frame-pointer");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  expect_the_three_callers();
  EXPECT_EQ(names_.front(), "pause");
  EXPECT_EQ(names_.back(), "_start");
}

// As an interpreter that is a library has it: large, beside the modules that it loads later, which lie before it.
TEST_F(SampledProcessTest, code_of_a_library_is_named_however_many_others_are_mapped) {
  (void)directory_.write("own.c",
                         std::string(kC) + "int run(int n) { return main(n, 0); } __asm__(\".skip 100000, 0x90\");");
  (void)directory_.write("a.c", R"(
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
int run(int n);
int main(void) {
  char name[4096];
  for (int i = 0; i < 100; ++i) {
    sprintf(name, "%s/module%d", PLACE, i);
    int file = open(name, O_RDWR | O_CREAT, 0700);
    if (ftruncate(file, 4096) != 0) return 1;
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    close(file);
  }
  return run(1);
}
)");
  build("gcc -O2 -fPIC -shared -Dmain=entered -o libown.so own.c");
  build("gcc -O2 -include unistd.h -DPLACE=\\\"$PWD\\\" -o a a.c -L. -lown -Wl,-rpath,$PWD");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_THAT(names_, testing::IsSupersetOf({"wait_here", "grow_cache", "handle_report"}));
  EXPECT_TRUE(is_complete()) << testing::PrintToString(names_);
}

TEST_F(SampledProcessTest, frames_when_of_the_c_library_are_marked_and_those_of_the_program_are_not) {
  build_c("");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  const GrowthFrame& pause = unwound_.frames[unwound_.stacks.front().frames.front()];
  EXPECT_TRUE(pause.is_allocator);
  EXPECT_THAT(pause.module, StartsWith("libc.so"));
  const auto own = std::ranges::find(unwound_.frames, "grow_cache", &GrowthFrame::function);
  ASSERT_NE(own, unwound_.frames.end());
  EXPECT_FALSE(own->is_allocator);
  EXPECT_EQ(own->module, "a");
  build("readelf -n a | sed -n 's/.*Build ID: //p'");
  EXPECT_EQ(unwound_.builds["a"] + "\n", directory_.log());
}

TEST_F(SampledProcessTest, stripped_program_when_unwound_has_the_beginnings_of_its_functions) {
  build_c("-s");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_TRUE(is_complete());
  EXPECT_EQ(std::ranges::count_if(names_, [](const std::string& name) { return name.starts_with("a!fn_"); }), 5)
      << testing::PrintToString(names_);
}

TEST_F(SampledProcessTest, stripped_program_when_its_code_refers_to_texts_has_them_beside_its_address) {
  std::string source = kC;
  source.replace(source.find("wait_here(); __asm__"), 12,
                 "const char *a = \"cache of %s grew\\n\", *b = \"short\"; __asm__ volatile(\"\" : : \"r\"(a), "
                 "\"r\"(b)); wait_here();");
  (void)directory_.write("a.c", source);
  for (const char* flags : {"-pie -fPIE", "-no-pie -fno-pie"}) {
    build(std::string("gcc -O2 -s -o a a.c ") + flags);
    start();
    ASSERT_NO_FATAL_FAILURE(unwind());
    std::vector<std::string> texts;
    for (const GrowthFrame& frame : unwound_.frames) texts.insert(texts.end(), frame.uses.begin(), frame.uses.end());
    EXPECT_THAT(texts, ElementsAre("cache of %s grew")) << flags;
  }
}

TEST_F(SampledProcessTest, stripped_program_when_it_has_packed_symbols_is_named_by_them) {
  build_c("");
  build("cp a full && xz -k full && strip a && objcopy --add-section .gnu_debugdata=full.xz a");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  expect_the_three_callers();
}

TEST_F(SampledProcessTest, static_program_when_it_has_no_search_table_is_unwound_by_an_index) {
  build_c("-static -Wl,--no-eh-frame-hdr");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  expect_the_three_callers();
}

// A C library whose own code has no tables: its frames are passed by a search of the stack.
TEST_F(SampledProcessTest, program_of_musl_when_unwound_is_complete) {
  if (!directory_.run("musl-gcc --version")) GTEST_SKIP() << "no musl-gcc";
  for (const char* flags : {"", "-fomit-frame-pointer", "-static", "-static -s -Wl,--no-eh-frame-hdr"}) {
    SCOPED_TRACE(flags);
    (void)directory_.write("a.c", kC);
    build(std::string("musl-gcc -O2 ") + flags + " -o a a.c");
    start();
    ASSERT_NO_FATAL_FAILURE(unwind());
    if (std::string_view(flags).find("-s ") == std::string_view::npos) {
      expect_the_three_callers();
    } else {
      EXPECT_TRUE(is_complete()) << testing::PrintToString(names_);
      EXPECT_GE(std::ranges::count_if(names_, [](const std::string& name) { return name.starts_with("a!fn_"); }), 3)
          << testing::PrintToString(names_);
    }
  }
}

TEST_F(SampledProcessTest, deleted_program_when_unwound_is_read_by_what_was_opened) {
  build_c("");
  start();
  (void)program_->sample();
  std::filesystem::remove(directory_.path("a"));
  ASSERT_NO_FATAL_FAILURE(unwind());
  expect_the_three_callers();
}

TEST_F(SampledProcessTest, library_when_it_has_no_tables_is_passed_by_a_scan) {
  (void)directory_.write("lib.c",
                         "int through(int (*f)(int), int n) { int a[40]; a[n] = f(n); "
                         "__asm__ volatile(\"\" ::\"r\"(a)); return a[n] + 1; }\n");
  std::string text = kC;
  text.replace(text.find("int r = grow_cache(n + 1);"), 26, "int r = through(grow_cache, n + 1);");
  (void)directory_.write("a.c", "int through(int (*f)(int), int n);\n" + text);
  build(
      "gcc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -shared -fPIC -o libplain.so lib.c && "
      "strip libplain.so && gcc -O2 -fomit-frame-pointer -o a a.c $PWD/libplain.so");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_TRUE(is_complete());
  const std::vector<std::string> own = from("grow_cache");
  ASSERT_GE(own.size(), 4U) << testing::PrintToString(names_);
  EXPECT_EQ(own[1], "through");
  EXPECT_EQ(own[2], "handle_report");
  EXPECT_EQ(own[3], "main");
}

TEST_F(SampledProcessTest, code_made_at_run_time_when_it_has_a_perf_map_is_named_by_it) {
  std::string text = kC;
  text.replace(text.find("int r = grow_cache(n + 1);"), 26, "int r = jit()(grow_cache, n + 1);");
  // push rbp; mov rbp,rsp; mov rax,rdi; mov edi,esi; call rax; pop rbp; ret
  text.insert(text.find("APART int handle_report"), R"(
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
typedef int (*Through)(int (*)(int), int);
static char map_name[64];
APART Through jit(void) {
  static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
  char* p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(p, code, sizeof code);
  sprintf(map_name, "/tmp/perf-%d.map", getpid());
  FILE* f = fopen(map_name, "w");
  fprintf(f, "1000 10 LazyCompile:other a.js:1\nnonsense\n%lx %x JS:*tick a.js:7\n", (long)p, (int)sizeof code);
  fclose(f);
  return (Through)p;
}
)");
  (void)directory_.write("a.c", text);
  build("gcc -O2 -fomit-frame-pointer -w -o a a.c");
  start();
  const std::string map_file = "/tmp/perf-" + std::to_string(program_->pid()) + ".map";
  records_ = program_->sample();
  auto process = SampledProcess::open("/proc", {program_->pid(), 0});
  ASSERT_TRUE(process.has_value());
  process_.emplace(std::move(*process));
  ASSERT_NO_FATAL_FAILURE(unwind_again());
  std::filesystem::remove(map_file);
  EXPECT_TRUE(is_complete());
  std::vector<std::string> own = from("grow_cache");
  ASSERT_GE(own.size(), 4U) << testing::PrintToString(names_);
  own.resize(4);
  EXPECT_THAT(own, ElementsAre("grow_cache", "JS:*tick a.js:7", "handle_report", "main"));
  EXPECT_TRUE(unwound_.frames[unwound_.stacks.front().frames[3]].is_managed) << testing::PrintToString(names_);
}

TEST_F(SampledProcessTest, handler_of_a_signal_when_sampled_leads_to_the_code_that_was_interrupted) {
  std::string text = kC;
  text.replace(text.find("int r = grow_cache(n + 1);"), 26,
               "signal(10, (void (*)(int))grow_cache); int r = raise(10);");
  (void)directory_.write("a.c", "#include <signal.h>\n" + text);
  build("gcc -O2 -fomit-frame-pointer -w -o a a.c");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_TRUE(is_complete());
  EXPECT_THAT(names_, AllOf(Contains("grow_cache"), Contains("raise"), Contains("handle_report"), Contains("main")));
}

TEST_F(SampledProcessTest, stack_when_it_was_cut_keeps_its_innermost_frames_and_is_not_complete) {
  build_c("-fomit-frame-pointer");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind(48));
  EXPECT_FALSE(is_complete());
  EXPECT_THAT(names_, Contains("wait_here"));
  EXPECT_THAT(names_, Not(Contains("main")));
}

TEST_F(SampledProcessTest, cpp_program_when_unwound_has_readable_names) {
  (void)directory_.write("a.cc", R"(
#include <unistd.h>
#include <string>
#include <vector>
namespace shop {
struct Session {
  __attribute__((noinline)) void put(const std::string& s) const {
    if (write(1, s.data(), 1) != 1) return;
    for (;;) pause();
  }
};
template <typename T> __attribute__((noinline)) int apply(const std::vector<T>& v, const Session& s) {
  s.put(std::string(v.size(), 'x')); __asm__ volatile(""); return 1;
}
}
int main() { const std::vector<std::string> v(3); int r = shop::apply(v, shop::Session()); __asm__ volatile(""); return r; }
)");
  build("g++ -O1 -o a a.cc");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  EXPECT_TRUE(is_complete());
  EXPECT_THAT(names_, Contains("shop::Session::put"));
  EXPECT_THAT(names_, Contains(HasSubstr("shop::apply<")));
}

// Both manglings: the library of rustc 1.95 has the newer one.
TEST_F(SampledProcessTest, rust_program_when_unwound_has_its_functions_without_hashes) {
  if (!directory_.run("rustc --version")) GTEST_SKIP() << "no rustc";
  (void)directory_.write("a.rs", R"(
use std::io::Write;
mod cache {
    #[inline(never)]
    pub fn grow(n: usize) -> usize { super::wait_here(); std::hint::black_box(n + 1) }
}
#[inline(never)]
fn wait_here() { println!(""); std::io::stdout().flush().unwrap(); loop { std::thread::sleep(std::time::Duration::from_secs(600)); } }
fn main() { std::process::exit(std::hint::black_box(cache::grow(1)) as i32) }
)");
  for (const char* flags : {"", "-C symbol-mangling-version=v0"}) {
    SCOPED_TRACE(flags);
    build(std::string("rustc -O ") + flags + " -o a a.rs");
    start();
    ASSERT_NO_FATAL_FAILURE(unwind());
    EXPECT_TRUE(is_complete()) << testing::PrintToString(names_);
    EXPECT_THAT(names_, AllOf(Contains("a::cache::grow"), Contains("a::main"), Not(Contains(HasSubstr("17h"))),
                              Not(Contains(StartsWith("_R")))));
  }
}

TEST_F(SampledProcessTest, batch_when_repeated_is_answered_from_what_was_parsed_before) {
  build_c("");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  const std::vector<std::byte> one = records_;
  for (int i = 1; i < 64; ++i) records_.insert(records_.end(), one.begin(), one.end());
  ASSERT_NO_FATAL_FAILURE(unwind_again());
  EXPECT_EQ(unwound_.stacks.size(), 64U);
  EXPECT_EQ(reader_.counters().started, 1U);
  EXPECT_EQ(unwound_.frames.size(), unwound_.stacks.front().frames.size());
  expect_the_three_callers();
}

TEST_F(SampledProcessTest, records_when_not_sound_are_refused) {
  build_c("");
  start();
  ASSERT_NO_FATAL_FAILURE(unwind());
  records_.pop_back();
  const auto cut = process_->unwind(records_, reader_, nullptr);
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code, ErrorCode::kInvalid);
}

TEST_F(SampledProcessTest, process_when_gone_is_not_found) {
  const auto process = SampledProcess::open("/proc", {999'999'999, 1});
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace oomw
#endif
