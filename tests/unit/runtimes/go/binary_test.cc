// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/binary.h"

#include <elf.h>

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "runtimes/go/binary_cache.h"
#include "runtimes/go/pclntab.h"
#include "runtimes/go/symbolizer.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw::go {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes load(const std::string& path) {
  const auto text = read_file(path, 64U << 20);
  const auto* begin = reinterpret_cast<const std::byte*>(text->data());
  return {begin, begin + text->size()};
}

Result<GoBinary> inspect(const Bytes& bytes) { return inspect_binary(SpanSource(bytes)); }

// All that reads a file, on one file: no crash is the claim, the sanitizers the judge.
void use_everything(const Bytes& bytes) {
  const SpanSource file(bytes);
  (void)inspect_binary(file);
  const auto symbolizer = Symbolizer::open(file);
  if (!symbolizer.has_value()) return;
  for (std::uint64_t pc = 0x401000; pc < 0x4c0000; pc += 0x1357) (void)(*symbolizer)->inlined_chain(pc);
}

// Wrong addresses are worse than none.
void expect_same_or_nothing(const Bytes& broken, const GoBinary& whole, const std::string& what) {
  const auto binary = inspect(broken);
  if (!binary.has_value() || binary->profiling != Profiling::kAvailable) return;
  EXPECT_EQ(binary->variables.buckets, whole.variables.buckets) << what;
}

class GoRuntimeMatrixLocate : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(GoRuntimeMatrixLocate, code_and_symbols_agree_about_all_three_variables) {
  OOMW_BUILD_OR_SKIP(program, std::get<0>(GetParam()), std::get<1>(GetParam()));
  const auto binary = test::inspect_path(program.path);
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_EQ(binary->profiling, Profiling::kAvailable) << binary->why;
  EXPECT_EQ(binary->method, LocateMethod::kSymbols);
  EXPECT_TRUE(binary->cross_checked);
  EXPECT_TRUE(binary->variables.buckets && binary->variables.rate && binary->variables.cycle);
  EXPECT_TRUE(binary->bss.contains(*binary->variables.buckets));
}
INSTANTIATE_TEST_SUITE_P(All, GoRuntimeMatrixLocate,
                         testing::Combine(testing::Values("1.19", "1.26", "1.27"),
                                          testing::Values("plain", "pie", "ext", "ext-pie", "arm64", "arm64-pie")),
                         test::name_of_program);

class GoRuntimeMatrixLinkedOut : public testing::TestWithParam<const char*> {};
TEST_P(GoRuntimeMatrixLinkedOut, is_told_from_the_file_alone) {
  OOMW_BUILD_OR_SKIP(program, GetParam(), "strip-nopprof");
  const auto binary = test::inspect_path(program.path);
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_EQ(binary->profiling, Profiling::kLinkedOut);
  EXPECT_THAT(binary->why, HasSubstr("not linked in"));
}
INSTANTIATE_TEST_SUITE_P(All, GoRuntimeMatrixLinkedOut, testing::Values("1.19", "1.26", "1.27"),
                         [](const auto& test_info) { return std::string("go1_") + (test_info.param + 2); });

TEST(Binary, stripped_program_is_located_by_its_code) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  const auto binary = test::inspect_path(program.path);
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_TRUE(binary->is_go);
  EXPECT_THAT(binary->go_version, testing::StartsWith("go1.19"));
  EXPECT_EQ(binary->method, LocateMethod::kCode);
  EXPECT_EQ(binary->profiling, Profiling::kAvailable) << binary->why;
  EXPECT_FALSE(binary->is_collector);
}

TEST(Binary, program_that_is_not_go_costs_its_headers_only) {
  const auto binary = test::inspect_path("/proc/self/exe");
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_FALSE(binary->is_go);
  EXPECT_THAT(binary->why, HasSubstr("not a Go program"));
}

TEST(Binary, file_that_is_no_executable_is_an_error) {
  EXPECT_EQ(test::inspect_path("/etc/passwd").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(inspect(Bytes{}).error().code, ErrorCode::kInvalid);
}

TEST(Binary, thirty_two_bit_and_foreign_machines_are_unsupported) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  const Bytes whole = load(program.path);
  for (const auto& [offset, value, text] :
       std::vector<std::tuple<std::size_t, int, const char*>>{{EI_CLASS, ELFCLASS32, "32-bit"},
                                                              {EI_DATA, ELFDATA2MSB, "big-endian"},
                                                              {offsetof(Elf64_Ehdr, e_machine), EM_RISCV, "machine"}}) {
    Bytes changed = whole;
    changed[offset] = static_cast<std::byte>(value);
    const auto binary = inspect(changed);
    ASSERT_FALSE(binary.has_value());
    EXPECT_EQ(binary.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(binary.error().message, HasSubstr(text));
  }
}

TEST(Binary, thirty_two_bit_go_program_is_named_and_nothing_of_it_read) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "386-strip");
  const auto binary = test::inspect_path(program.path);
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_TRUE(binary->is_go);
  EXPECT_EQ(binary->profiling, Profiling::kNarrow);
  EXPECT_THAT(binary->why, HasSubstr("32-bit Go program"));
  EXPECT_EQ(binary->variables, HeapVariables{});
}

TEST(Binary, damaged_thirty_two_bit_program_never_gives_an_address) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "386-strip");
  const Bytes whole = load(program.path);
  const auto expect_no_address = [](const Bytes& bytes, std::size_t at) {
    const auto binary = inspect(bytes);
    if (binary.has_value()) {
      EXPECT_EQ(binary->variables, HeapVariables{}) << at;
    }
  };
  for (std::size_t cut = 0; cut < 64; ++cut) {
    expect_no_address(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)), cut);
    Bytes changed = whole;
    changed[cut] = std::byte{0xff};
    expect_no_address(changed, cut);
  }
  for (std::size_t cut = 4096; cut < whole.size(); cut += whole.size() / 16) {
    expect_no_address(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)), cut);
  }
}

TEST(Binary, truncated_at_or_within_any_section_never_gives_a_wrong_address) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  const Bytes whole = load(program.path);
  const auto good = inspect(whole);
  const SpanSource source(whole);
  CachedReader reader(source, 1U << 30);
  const auto elf = elf::File::open(reader);
  ASSERT_TRUE(elf.has_value());
  for (const elf::Section& section : elf->sections()) {
    for (const std::uint64_t cut :
         {section.offset, section.offset + section.size / 2, section.offset + section.size - 1}) {
      if (cut == 0 || cut >= whole.size()) continue;
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
      expect_same_or_nothing(part, *good, section.name + " cut");
      use_everything(part);
    }
  }
}

TEST(Binary, overwritten_sections_never_give_a_wrong_address) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  const Bytes whole = load(program.path);
  const auto good = inspect(whole);
  const SpanSource source(whole);
  CachedReader reader(source, 1U << 30);
  const auto elf = elf::File::open(reader);
  ASSERT_TRUE(elf.has_value());
  for (const elf::Section& section : elf->sections()) {
    if (!section.has_file_bytes() || section.offset + section.size > whole.size()) continue;
    for (const std::byte fill : {std::byte{0}, std::byte{0xff}}) {
      Bytes broken = whole;
      std::fill_n(broken.begin() + static_cast<std::ptrdiff_t>(section.offset), section.size, fill);
      expect_same_or_nothing(broken, *good, section.name + " filled");
      use_everything(broken);
    }
  }
}

TEST(Binary, damaged_headers_and_function_table_do_no_harm) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  const Bytes whole = load(program.path);
  const SpanSource source(whole);
  CachedReader reader(source, 1U << 30);
  const auto table_at = elf::File::open(reader)->find_section(".gopclntab")->offset;
  std::mt19937_64 random(1);  // NOLINT: the same damage each time
  for (int i = 0; i < 300; ++i) {
    Bytes broken = whole;
    const std::size_t begin = i % 2 ? table_at : 0;
    for (int n = 0; n < 4; ++n) broken[begin + random() % 1024] = static_cast<std::byte>(random());
    (void)inspect(broken);
    if (i % 10 == 0) use_everything(broken);
  }
}

TEST(Binary, file_without_section_headers_is_found_by_the_magic) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  Bytes bytes = load(program.path);
  const auto good = inspect(bytes);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof(header));
  const auto binary = inspect(bytes);
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_EQ(binary->profiling, Profiling::kAvailable) << binary->why;
  EXPECT_EQ(binary->variables.buckets, good->variables.buckets);
  EXPECT_TRUE(binary->bss.contains(*binary->variables.buckets));
}

TEST(Pclntab, table_of_go_1_17_is_unsupported) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  Bytes bytes = load(program.path);
  const Bytes untouched = bytes;
  const SpanSource source(untouched);
  CachedReader reader(source, 1U << 30);
  const auto at = elf::File::open(reader)->find_section(".gopclntab")->offset;
  bytes[at] = std::byte{0xfa};
  const auto binary = inspect(bytes);
  ASSERT_TRUE(binary.has_value());
  EXPECT_EQ(binary->profiling, Profiling::kNotFound);
  EXPECT_THAT(binary->why, HasSubstr("Go 1.17 or older"));
}

TEST(BinaryCache, second_process_of_a_program_does_not_read_the_file_again) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  BinaryCache cache;
  for (int i = 0; i < 3; ++i) {
    const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto binary = cache.inspect(fd.get());
    ASSERT_TRUE(binary.has_value());
    EXPECT_EQ((*binary)->profiling, Profiling::kAvailable);
  }
  EXPECT_EQ(cache.misses(), 1U);
}

TEST(BinaryCache, files_that_are_no_programs_are_remembered_with_the_reason) {
  BinaryCache cache;
  const UniqueFd fd(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE((*cache.inspect(fd.get()))->is_go);
  EXPECT_THAT((*cache.inspect(fd.get()))->why, HasSubstr("not an ELF file"));
  EXPECT_EQ(cache.misses(), 1U);
}

TEST(BinaryCache, the_longest_unused_file_goes_first) {
  BinaryCache cache(2);
  const UniqueFd a(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)), b(::open("/etc/hostname", O_RDONLY | O_CLOEXEC)),
      c(::open("/etc/group", O_RDONLY | O_CLOEXEC));
  for (const int fd : {a.get(), b.get(), a.get(), c.get(), a.get()}) ASSERT_TRUE(cache.inspect(fd).has_value());
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.misses(), 3U);
  ASSERT_TRUE(cache.inspect(b.get()).has_value());
  EXPECT_EQ(cache.misses(), 4U);
}

}  // namespace
}  // namespace oomw::go
