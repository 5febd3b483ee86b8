// SPDX-License-Identifier: Apache-2.0
// The names are those that rustc 1.95 made, and what c++filt writes for them without hashes and types of constants.
#include "growth/rust_names.h"

#include <ostream>
#include <thread>

#include <gtest/gtest.h>

namespace oomw::growth {
namespace {

struct Named {
  const char* symbol;
  const char* text;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.text; }

class RustNames : public testing::TestWithParam<Named> {};

TEST_P(RustNames, name_when_sound_is_readable) {
  EXPECT_EQ(rust_name(GetParam().symbol).value_or("none"), GetParam().text);
}

const Named kFunctions[] = {
    {"_RNvCs6xxl1lAjzDf_1a4main", "a::main"},
    {"_RNCNvCs6xxl1lAjzDf_1a4mains_0B3_", "a::main::{closure#1}"},
    {"_RINvCs6xxl1lAjzDf_1a5applyNCNvB2_4main0EB2_", "a::apply::<a::main::{closure#0}>"},
    {"_RNvMNtCs6xxl1lAjzDf_1a5cacheINtB2_5StoreyKj5_E4growB4_", "<a::cache::Store<u64, 5>>::grow"},
    {"_RNvXs_NtCs6xxl1lAjzDf_1a5cacheINtB4_5StoreRShKj3_ENtB4_4Keep4keepB6_",
     "<a::cache::Store<&[u8], 3> as a::cache::Keep>::keep"},
    {"_RNvCsfLfy6EI15iL_7___rustc35___rust_no_alloc_shim_is_unstable_v2",
     "__rustc::__rust_no_alloc_shim_is_unstable_v2"},
    {"_RNvNtNtCsjrHSEGnQ3l9_3std6thread11main_thread4MAIN.0", "std::thread::main_thread::MAIN"},
    {"_RNvCs6xxl1lAjzDf_1au9gre_6ka8i", "a::punycode{gre_6ka8i}"},
};
INSTANTIATE_TEST_SUITE_P(Functions, RustNames, testing::ValuesIn(kFunctions));

const Named kTypes[] = {
    {"_RINvCs6xxl1lAjzDf_1a2fpFG0_RL1_hRL0_hERL1_hEB2_", "a::fp::<for<'a, 'b> fn(&'a u8, &'b u8) -> &'a u8>"},
    {"_RINvCs6xxl1lAjzDf_1a2fpFKClElEB2_", "a::fp::<extern \"C\" fn(i32) -> i32>"},
    {"_RINvCs6xxl1lAjzDf_1a2fpINtNtCsgEmfK2I1SDS_4core6option6OptionINtNtCslNYArtu3iFV_5alloc5boxed3BoxDNtNtBq_"
     "3fmt5Debu"
     "gNtNtBq_6marker4SendEL_EEEB2_",
     "a::fp::<core::option::Option<alloc::boxed::Box<dyn core::fmt::Debug + core::marker::Send>>>"},
    {"_RNvXs0_NtCs6xxl1lAjzDf_1a5cacheThPlAcj4_ENtB5_4Keep4keep",
     "<(u8, *const i32, [char; 4]) as a::cache::Keep>::keep"},
    {"_RNvMCs6xxl1lAjzDf_1aINtB2_3NegKln7_Kb1_Kc78_E2goB2_", "<a::Neg<-7, true, '\\u{78}'>>::go"},
    {"_RNSNvYNCNvCs6xxl1lAjzDf_1a4mains_0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRhReEE9call_once6vtableB8_",
     "<a::main::{closure#1} as core::ops::function::FnOnce<(&u8, &str)>>::call_once::{shim:vtable#0}"},
};
INSTANTIATE_TEST_SUITE_P(Types, RustNames, testing::ValuesIn(kTypes));

TEST(RustName, symbol_when_of_another_kind_or_cut_is_none) {
  for (const char* symbol : {"", "_R", "_ZN1a4mainE", "_R0NvC1a4main", "_Rust_function", "_RNvC1a", "_RNvC1a9main",
                             "_RNvC1a4mainB", "_RNvC1a4main rest", "_RNvC99999999999999999999991a4main"}) {
    EXPECT_FALSE(rust_name(symbol).has_value()) << symbol;
  }
}

TEST(RustName, reference_when_it_does_not_point_back_is_none) {
  EXPECT_FALSE(rust_name("_RNvB_4main").has_value());   // to the path that it is a part of
  EXPECT_FALSE(rust_name("_RNvBz_4main").has_value());  // beyond its end
}

// Each type is a pair of the one before: 40 of them would be written 2^40 times.
TEST(RustName, name_when_its_references_double_what_is_written_is_none) {
  std::string symbol = "_RINvC1a1fTuuE";
  for (int i = 0; i < 40; ++i) {
    const std::size_t before = symbol.rfind('T') - 2;
    const std::string digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string number = std::string(1, digits[(before - 1) % 62]);
    if (before - 1 >= 62) number.insert(0, 1, digits[(before - 1) / 62]);
    symbol += "TB" + number + "_B" + number + "_E";
  }
  EXPECT_FALSE(rust_name(symbol + "E").has_value());
  EXPECT_TRUE(rust_name("_RINvC1a1fTuuETB7_B7_EE").has_value());
}

TEST(RustName, type_when_too_deep_is_none) {
  EXPECT_TRUE(rust_name("_RINvC1a1f" + std::string(50, 'R') + "uE").has_value());
  EXPECT_FALSE(rust_name("_RINvC1a1f" + std::string(500, 'R') + "uE").has_value());
}

}  // namespace
}  // namespace oomw::growth
