// SPDX-License-Identifier: Apache-2.0
// The callers of stopped programs as elfutils' libdw finds them, and as we do: the same addresses wherever libdw comes
// to the end. libdw is an oracle here and no substitute: it has none for code without tables.
#include <gtest/gtest.h>

#if defined(OOMW_HAS_LIBDW) && defined(__x86_64__)
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "growth/unwinder.h"
#include "unit/growth/sampled_code.h"
#include "unit/growth/sampled_program.h"

namespace oomw::growth {
namespace {

using Addresses = std::vector<std::uint64_t>;

int add_frame(Dwfl_Frame* frame, void* argument) {
  Dwarf_Addr pc = 0;
  if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  static_cast<Addresses*>(argument)->push_back(pc);
  return DWARF_CB_OK;
}

// Empty: libdw did not come to the end.
Addresses by_libdw(pid_t pid) {
  static char* no_debug_files = nullptr;
  static const Dwfl_Callbacks kCallbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr,
                                            &no_debug_files};
  const std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl(dwfl_begin(&kCallbacks), dwfl_end);
  Addresses addresses;
  const bool is_attached = dwfl_linux_proc_report(dwfl.get(), pid) == 0 &&
                           dwfl_report_end(dwfl.get(), nullptr, nullptr) == 0 &&
                           dwfl_linux_proc_attach(dwfl.get(), pid, false) == 0;
  if (!is_attached || dwfl_getthread_frames(dwfl.get(), pid, add_frame, &addresses) != 0) return {};
  return addresses;
}

struct Program {
  const char* name;
  const char* compiler;
  const char* text;
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

constexpr const char* kSorting = R"(
static int compare(const void* a, const void* b) { stop_here(); return *(const int*)a - *(const int*)b; }
int main(void) { int a[] = {3, 2, 1}; qsort(a, 3, sizeof *a, compare); return a[0]; }
)";

// Each calls stop_here() at the end of what it is for.
const Program kPrograms[] = {
    {"plain", "gcc -O2 -fomit-frame-pointer -x c", R"(
APART int grow(int n) { stop_here(); __asm__ volatile(""); return n + 1; }
int main(int c, char** v) { (void)v; int r = grow(c + 1); __asm__ volatile(""); return r; }
)"},
    {"without_optimisation", "gcc -O0 -x c", R"(
int grow(int n) { stop_here(); return n + 1; }
int main(int c, char** v) { (void)v; return grow(c); }
)"},
    {"deep_recursion", "gcc -O1 -fomit-frame-pointer -x c", R"(
APART int down(int n) { if (n == 0) stop_here(); int r = n > 0 ? down(n - 1) : 0; __asm__ volatile(""); return r + n; }
int main(void) { int r = down(60); __asm__ volatile(""); return r; }
)"},
    {"stack_that_grows_at_run_time", "gcc -O2 -x c", R"(
#include <alloca.h>
APART int grow(int n) { char* p = alloca(n); p[0] = 1; __asm__ volatile("" ::"r"(p) : "memory"); stop_here(); return p[n / 2]; }
int main(int c, char** v) { (void)v; int r = grow(c * 300); __asm__ volatile(""); return r; }
)"},
    {"stack_that_is_realigned", "gcc -O2 -mavx2 -x c", R"(
APART int grow(int n) { char p[512] __attribute__((aligned(64))); p[n] = 1; __asm__ volatile("" ::"r"(p) : "memory"); stop_here(); return p[3]; }
int main(int c, char** v) { (void)v; int r = grow(c); __asm__ volatile(""); return r; }
)"},
    {"called_back_by_the_c_library", "gcc -O2 -x c", kSorting},
    {"in_a_signal_handler", "gcc -O2 -w -x c", R"(
#include <signal.h>
APART void handler(int n) { stop_here(); __asm__ volatile("" ::"r"(n)); }
APART int grow(int n) { int r = raise(10); __asm__ volatile(""); return r + n; }
int main(void) { signal(10, handler); int r = grow(1); __asm__ volatile(""); return r; }
)"},
    {"static_program", "gcc -O2 -static -x c", kSorting},
    {"cpp_with_virtual_calls_and_containers", "g++ -O2 -x c++", R"(
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
struct Sink { virtual ~Sink() {} virtual int take(const std::string& s) = 0; };
struct Store : Sink { std::map<std::string, int> kept; APART int take(const std::string& s) override { kept[s] = 1; stop_here(); return 1; } };
APART int apply(const std::function<int(const std::string&)>& f, std::vector<std::string> v) {
  std::for_each(v.begin(), v.end(), [&](const std::string& s) { f(s + "x"); }); return 1;
}
int main() { Store store; Sink* sink = &store; return apply([sink](const std::string& s) { return sink->take(s); }, {"a", "b"}); }
)"},
    {"cpp_while_an_exception_is_handled", "g++ -O2 -x c++", R"(
#include <stdexcept>
struct Guard { APART ~Guard() { stop_here(); } };
APART int fails(int n) { if (n > 0) throw std::runtime_error("no"); return n; }
APART int guarded(int n) { Guard guard; return fails(n) + 1; }
int main(int c, char**) { try { return guarded(c); } catch (const std::exception&) { return 0; } }
)"},
};

class UnwindOracle : public testing::TestWithParam<Program> {};

TEST_P(UnwindOracle, addresses_when_libdw_comes_to_the_end_are_the_same) {
  const test::ProgramDirectory directory;
  (void)directory.write("a.c", std::string(test::kStopHere) + GetParam().text);
  ASSERT_TRUE(directory.run(std::string(GetParam().compiler) + " a.c -o a")) << directory.log();
  test::SampledProgram program(directory.path("a"));
  const std::vector<std::byte> record = program.sample();
  ASSERT_FALSE(record.empty()) << "no sample could be taken";
  const NativeStack stack = test::SampledCode(program.pid()).unwind(record);
  const Addresses expected = by_libdw(program.pid());
  ASSERT_FALSE(expected.empty()) << "libdw did not come to the end: " << dwfl_errmsg(-1);
  Addresses found;
  for (const NativeFrame& frame : stack.frames) found.push_back(frame.pc);
  EXPECT_TRUE(stack.is_complete);
  EXPECT_EQ(found, expected);
  EXPECT_GE(found.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Programs, UnwindOracle, testing::ValuesIn(kPrograms),
                         [](const auto& program) { return std::string(program.param.name); });

}  // namespace
}  // namespace oomw::growth
#else
TEST(UnwindOracle, addresses_when_libdw_comes_to_the_end_are_the_same) { GTEST_SKIP() << "built without libdw-dev"; }
#endif
