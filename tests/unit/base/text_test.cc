// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;

constexpr auto kBad = "\uFFFD";

TEST(ToValidUtf8, valid_text_of_every_length_is_kept) {
  const std::string text = "a\u00e9\u20ac\U0001F600"s + '\0' + "z";
  EXPECT_EQ(to_valid_utf8(text), text);
}

TEST(ToValidUtf8, each_malformed_byte_becomes_one_replacement) {
  EXPECT_EQ(to_valid_utf8("\xff\xfe"), std::string(kBad) + kBad);
  EXPECT_EQ(to_valid_utf8("a\x80z"), std::string("a") + kBad + "z");
}

TEST(ToValidUtf8, character_cut_at_the_end_is_malformed) {
  EXPECT_EQ(to_valid_utf8("\xe2\x82"), std::string(kBad) + kBad);
}

TEST(ToValidUtf8, overlong_surrogate_and_too_large_are_malformed) {
  EXPECT_EQ(to_valid_utf8("\xc0\xaf"), std::string(kBad) + kBad);
  EXPECT_EQ(to_valid_utf8("\xe0\x80\xaf"), std::string(kBad) + kBad + kBad);
  EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), std::string(kBad) + kBad + kBad);
  EXPECT_EQ(to_valid_utf8("\xf4\x90\x80\x80"), std::string(kBad) + kBad + kBad + kBad);
}

TEST(Printable, plain_text_is_kept) { EXPECT_EQ(printable("caf\u00e9 [1] \\x"), "caf\u00e9 [1] \\x"); }

TEST(Printable, control_characters_and_bad_bytes_are_escaped) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\0"s), "\\x00");
}

TEST(Printable, invisible_and_reordering_characters_are_escaped) {
  EXPECT_EQ(printable("\u009b31m\u00ad\U000e0041"), "\\u{009b}31m\\u{00ad}\\u{e0041}");
  EXPECT_EQ(printable("\u0085\u2028\u202e\u2066\u200b\ufeff"),
            "\\u{0085}\\u{2028}\\u{202e}\\u{2066}\\u{200b}\\u{feff}");
}

TEST(Printable, text_that_just_fits_is_not_cut) { EXPECT_EQ(printable("12345678", 8), "12345678"); }

TEST(Printable, longer_text_is_cut_with_an_ellipsis_within_the_bound) {
  EXPECT_EQ(printable("123456789", 8), "12345...");
  EXPECT_EQ(printable("\u20ac\u20ac\u20ac\u20ac\u20ac", 4), "\u20ac...");
}

TEST(Printable, an_escape_is_never_cut_in_two) {
  EXPECT_EQ(printable("abc\n\n\n", 8), "abc...");
  EXPECT_EQ(printable("\n\n\n", 2), "..");
}

TEST(Shortened, a_name_is_never_cut) {
  const std::string sentence =
      "Leak in web: a dict of 7 dict held as `my sessions` in `app`; main.(*cache).put (main.go:31) too";
  EXPECT_EQ(shortened(sentence, sentence.size()), sentence);
  for (std::size_t most = 20; most < sentence.size(); ++most) {
    const std::string cut = shortened(sentence, most);
    EXPECT_LE(cut.size(), most);
    ASSERT_TRUE(cut.ends_with("...")) << cut;
    EXPECT_EQ(std::ranges::count(cut, '`') % 2, 0) << cut;
    EXPECT_EQ(std::ranges::count(cut, '('), std::ranges::count(cut, ')')) << cut;
    const char next = sentence[cut.size() - 3];
    EXPECT_TRUE(next == ' ' || next == ';' || next == ':') << "within a word: " << cut;
  }
}

TEST(Shortened, a_sentence_ends_where_one_does_in_the_second_half) {
  EXPECT_EQ(shortened("It grew (by 3. 4 MiB). Its growth was first touched in main.put", 40),
            "It grew (by 3. 4 MiB)...");
  EXPECT_EQ(shortened("It grew. Its growth was first touched in main.put", 43),
            "It grew. Its growth was first touched in...");
  EXPECT_EQ(shortened("all of it hangs on main.main -> main.cache", 34), "all of it hangs on main.main...");
}

TEST(Shortened, what_has_no_better_place_is_cut_in_a_word_but_in_no_character) {
  EXPECT_EQ(shortened(std::string(50, 'w'), 20), std::string(17, 'w') + "...");
  EXPECT_EQ(shortened("(" + std::string(50, 'w'), 4), "(...");
  for (std::size_t most = 3; most < 12; ++most) {
    const std::string cut = shortened("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", most);
    EXPECT_EQ(to_valid_utf8(cut), cut) << most;
  }
  EXPECT_EQ(shortened("abcdef", 2), "..");
}

TEST(ToFileComponent, unsafe_characters_become_underscores) {
  EXPECT_EQ(to_file_component("a/b c\n\xff.txt"), "a_b_c__.txt");
}

TEST(ToFileComponent, never_hidden_an_option_or_a_parent) {
  EXPECT_EQ(to_file_component(".."), "_.");
  EXPECT_EQ(to_file_component("-rf"), "_rf");
  EXPECT_EQ(to_file_component(""), "_");
}

TEST(ToFileComponent, cut_to_the_bound) { EXPECT_EQ(to_file_component(std::string(300, 'x')).size(), 64u); }

TEST(ToMarkdown, markup_and_entities_are_escaped) {
  EXPECT_EQ(to_markdown("<b>|`*_[x]\\&lt;"), "\\<b\\>\\|\\`\\*\\_\\[x\\]\\\\\\&lt;");
}

TEST(ToMarkdown, a_newline_cannot_start_a_block) { EXPECT_EQ(to_markdown("a\n# b"), "a\\\\x0a# b"); }

TEST(Split, keeps_empty_parts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Trim, takes_white_space_from_both_ends_only) {
  EXPECT_EQ(trim(" \t a b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(ParseU64, takes_the_whole_range) {
  EXPECT_EQ(parse_u64("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_u64("ff", 16), 255u);
}

TEST(ParseU64, anything_else_is_none) {
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "18446744073709551616", "1x", "0x1"}) {
    EXPECT_EQ(parse_u64(text), std::nullopt) << text;
  }
}

TEST(HumanBytes, three_significant_digits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(812), "812 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(64u << 20), "64.0 MiB");
  EXPECT_EQ(human_bytes(256u << 20), "256 MiB");
  EXPECT_EQ(human_bytes(3ull << 29), "1.50 GiB");
  EXPECT_EQ(human_bytes(~0ull), "16.0 EiB");
}

TEST(HumanBytes, rounding_up_moves_to_the_next_unit) { EXPECT_EQ(human_bytes((1u << 20) - 1), "1.00 MiB"); }

TEST(IsLowerHex, takes_lower_case_digits_only) {
  EXPECT_TRUE(is_lower_hex("0123456789abcdef"));
  EXPECT_TRUE(is_lower_hex(""));
  EXPECT_FALSE(is_lower_hex("0A"));
  EXPECT_FALSE(is_lower_hex("0g"));
  EXPECT_FALSE(is_lower_hex(std::string_view("0\0", 2)));
}

TEST(SignedBytes, both_signs_are_written_as_sizes_are) {
  EXPECT_EQ(human_signed_bytes(812), "812 B");
  EXPECT_EQ(human_signed_bytes(-812), "-812 B");
  EXPECT_EQ(human_signed_bytes(1.5 * (1 << 30)), "1.50 GiB");
  EXPECT_EQ(human_signed_bytes(-1.5 * (1 << 30)), "-1.50 GiB");
}

TEST(SignedBytes, less_than_a_byte_is_none_and_has_no_sign) {
  EXPECT_EQ(human_signed_bytes(0), "0 B");
  EXPECT_EQ(human_signed_bytes(0.9), "0 B");
  EXPECT_EQ(human_signed_bytes(-0.9), "0 B");
}

TEST(SignedBytes, what_no_size_is_is_said) {
  EXPECT_EQ(human_signed_bytes(HUGE_VAL), "inf");
  EXPECT_EQ(human_signed_bytes(-HUGE_VAL), "-inf");
  EXPECT_EQ(human_signed_bytes(std::nan("")), "unknown");
}

TEST(SignedBytes, more_than_any_memory_is_capped_and_not_undefined) {
  EXPECT_EQ(human_signed_bytes(1e300), human_signed_bytes(1e18));
  EXPECT_EQ(human_signed_bytes(-1e300), "-" + human_signed_bytes(1e18));
}

TEST(Paths, a_name_that_only_begins_alike_is_not_below) {
  EXPECT_TRUE(is_at_or_below("/pods/a", "/"));
  EXPECT_TRUE(is_at_or_below("/pods/a", "/pods/a"));
  EXPECT_TRUE(is_at_or_below("/pods/a/b", "/pods/a"));
  EXPECT_FALSE(is_at_or_below("/pods/ab", "/pods/a"));
  EXPECT_EQ(parent_path("/pods/a"), "/pods");
  EXPECT_EQ(parent_path("/pods"), "/");
  EXPECT_EQ(base_name("/pods/a"), "a");
}

}  // namespace
}  // namespace oomw
