// SPDX-License-Identifier: Apache-2.0
#include "growth/code_names.h"

#include <gtest/gtest.h>

namespace oomw::growth {
namespace {

TEST(CodeNames, cpp_name_when_mangled_loses_its_parameters) {
  EXPECT_EQ(readable_name("_ZN7Session3putERKSs"), "Session::put");
  EXPECT_EQ(readable_name("_ZNK4shop7Session4sizeEv"), "shop::Session::size");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_14growEi"), "(anonymous namespace)::grow");
  EXPECT_EQ(readable_name("_ZN3FooclEi"), "Foo::operator()");
  EXPECT_EQ(readable_name("_Znwm"), "operator new");
}

TEST(CodeNames, rust_name_when_of_the_older_mangling_loses_its_hash) {
  EXPECT_EQ(readable_name("_ZN5cache4grow17h0123456789abcdefE"), "cache::grow");
  EXPECT_EQ(readable_name("_ZN46_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$X$GT$4grow17h0123456789abcdefE"),
            "<alloc::vec::Vec<T> as X>::grow");
}

TEST(CodeNames, rust_name_when_of_the_newer_mangling_is_read_too) {
  EXPECT_EQ(readable_name("_RNvNtCs6xxl1lAjzDf_1a5cache4grow.llvm.17357719884149462883"), "a::cache::grow");
  EXPECT_EQ(readable_name("_Rnothing"), "_Rnothing");
}

TEST(CodeNames, name_when_not_mangled_or_unknown_stays) {
  EXPECT_EQ(readable_name("handle_report"), "handle_report");
  EXPECT_EQ(readable_name("malloc@@GLIBC_2.2.5"), "malloc");
  EXPECT_EQ(readable_name(""), "");
}

// Each pair of references doubles what is printed: 60 of them would be 2^30 characters.
TEST(CodeNames, name_when_it_would_become_very_long_is_shown_by_its_parts) {
  std::string symbol = "_ZN3foo3barEPiS_";
  for (int i = 0; i < 60; ++i) symbol += "PFS" + std::string(1, static_cast<char>('0' + i % 10)) + "_S_E";
  EXPECT_EQ(readable_name(symbol), "foo::bar");
}

TEST(CodeNames, identifier_when_longer_than_the_name_is_no_name) {
  EXPECT_EQ(readable_name("_ZN999foo"), "_ZN999foo");
  EXPECT_EQ(readable_name("_ZN"), "_ZN");
}

TEST(CodeNames, allocators_are_known_and_the_program_is_none) {
  for (const char* name : {"malloc", "calloc", "operator new", "PyObject_Malloc", "_PyObject_GC_New", "je_malloc",
                           "Perl_safesysmalloc", "Perl_safesysrealloc", "Perl_sv_grow", "Perl_more_bodies",
                           "<alloc::raw_vec::RawVec<u8>>::grow_one", "__rustc::__rdl_alloc"}) {
    EXPECT_TRUE(is_allocator(name, "a")) << name;
  }
  EXPECT_TRUE(is_allocator("", "libc.so.6"));
  EXPECT_FALSE(is_allocator("handle_report", "a"));
  EXPECT_FALSE(is_allocator("PyObject_Vectorcall", "python3.11"));
  EXPECT_FALSE(is_allocator("Perl_pp_push", "perl"));
}

}  // namespace
}  // namespace oomw::growth
