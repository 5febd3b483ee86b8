// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/class_counts.h"

#include <gtest/gtest.h>

namespace oomw::native {
namespace {

TEST(ReadableTypeName, class_names_are_readable) {
  EXPECT_EQ(readable_type_name("7Session"), "Session");
  EXPECT_EQ(readable_type_name("N4shop7SessionE"), "shop::Session");
  EXPECT_EQ(readable_type_name("*N12_GLOBAL__N_17SessionE"), "(anonymous namespace)::Session");
  EXPECT_EQ(readable_type_name("N4shop5CacheISt6vectorIiSaIiEEEE"),
            "shop::Cache<std::vector<int, std::allocator<int> > >");
}

TEST(ReadableTypeName, block_of_make_shared_is_the_class_in_it) {
  EXPECT_EQ(readable_type_name("St23_Sp_counted_ptr_inplaceIN4shop7InvoiceESaIvELN9__gnu_cxx12_Lock_policyE2EE"),
            "shop::Invoice");
}

TEST(ReadableTypeName, text_that_is_no_class_is_no_name) {
  for (const char* text :
       {"", "*", "hello", "i", "7Sess", "N4shop", "7Session\x01", "99999999999a", "N4shop7Session"}) {
    EXPECT_EQ(readable_type_name(text), "") << text;
  }
}

// Each reference to what came before may double the length of the text.
TEST(ReadableTypeName, name_that_grows_out_of_proportion_is_none) {
  const auto name = [](int references) {
    std::string arguments;
    for (int i = 0; i < references; ++i) arguments += "S_";
    return "1aI1b" + arguments + "E";
  };
  EXPECT_NE(readable_type_name(name(8)), "");
  EXPECT_EQ(readable_type_name(name(9)), "");
  EXPECT_EQ(readable_type_name(std::string(300, '1')), "");
}

}  // namespace
}  // namespace oomw::native
