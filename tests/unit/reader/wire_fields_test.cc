// SPDX-License-Identifier: Apache-2.0
#include "reader/wire_fields.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/json_fields.h"

namespace oomw::reader {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct Wire {};

struct Part {
  std::string name;
  std::vector<std::string> path;
  double share = 0;
};

struct Whole {
  std::int32_t pid = 0;
  bool is_owner = false;
  std::optional<double> seconds, ratio;
  std::optional<std::uint64_t> bytes;
  MonotonicTime at;
  std::vector<Part> parts;
};

void describe(auto& v, Of<Part> auto& part) {
  v("name", part.name, Chars{8});
  v("path", part.path, Items{2, 8}, Presence::kOmitted);
  v("share", part.share, Ratio{});
}

void describe(auto& v, Of<Whole> auto& whole) {
  v("pid", whole.pid);
  v("is_owner", whole.is_owner, Presence::kOmitted);
  v("seconds", whole.seconds, Within{0, 10});
  v("ratio", whole.ratio, Ratio{});
  v("bytes", whole.bytes);
  v("at", whole.at);
  v("parts", whole.parts, Items{3});
}

Whole back(const Whole& whole) { return from_wire<Wire, Whole>(to_wire<Wire>(whole)).value(); }

TEST(WireFields, what_is_written_is_read) {
  const Whole read = back({-7, true, 2.5, 0.5, 9, {-3}, {{"a", {"b", "c"}, 0.25}, {}}});
  EXPECT_EQ(read.pid, -7);
  EXPECT_TRUE(read.is_owner);
  EXPECT_EQ(read.seconds, 2.5);
  EXPECT_EQ(read.ratio, 0.5);
  EXPECT_EQ(read.bytes, 9U);
  EXPECT_EQ(read.at.ns, -3);
  ASSERT_THAT(read.parts, SizeIs(2));
  EXPECT_EQ(read.parts[0].name, "a");
  EXPECT_THAT(read.parts[0].path, ElementsAre("b", "c"));
  EXPECT_EQ(read.parts[0].share, 0.25);
}

TEST(WireFields, both_ends_bound_lists_texts_and_numbers) {
  Whole whole;
  whole.parts.assign(9, {"a\x1b[2J and more", std::vector<std::string>(9, "long enough"), 7});
  whole.seconds = 11;
  whole.ratio = -1;
  const Whole read = back(whole);
  ASSERT_THAT(read.parts, SizeIs(3));
  EXPECT_THAT(read.parts[0].path, SizeIs(2));
  EXPECT_LE(read.parts[0].name.size(), 8U);
  EXPECT_EQ(read.parts[0].name.find('\x1b'), std::string::npos);
  EXPECT_EQ(read.parts[0].share, 1);
  EXPECT_FALSE(read.seconds) << "not a time";
  EXPECT_EQ(read.ratio, 0);
}

TEST(WireFields, what_a_writer_sends_that_bounds_nothing_is_bounded) {
  WireWriter out;
  out.text("a\x1b[2J and more").number(1).text("longer than eight").number(std::bit_cast<std::uint64_t>(7.0));
  const Part part = from_wire<Wire, Part>(out.take()).value();
  EXPECT_EQ(part.name.find('\x1b'), std::string::npos);
  EXPECT_LE(part.name.size(), 8U);
  EXPECT_LE(part.path.at(0).size(), 8U);
  EXPECT_EQ(part.share, 1);
}

TEST(WireFields, a_part_of_a_message_is_none) {
  Whole whole;
  whole.parts = {{"a", {"b"}, 1}};
  const std::string bytes = to_wire<Wire>(whole);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE((from_wire<Wire, Whole>(bytes.substr(0, size)))) << size;
  }
  EXPECT_FALSE((from_wire<Wire, Whole>(bytes + "x")));
}

struct Numbers {
  std::int32_t small = 0;
  bool flag = false;
  double any = 0;
  std::vector<std::uint64_t> list;
};

void describe(auto& v, Of<Numbers> auto& numbers) {
  v("small", numbers.small);
  v("flag", numbers.flag);
  v("any", numbers.any);
  v("list", numbers.list, Items{2});
}

TEST(WireFields, a_number_that_does_not_fit_and_a_list_that_is_too_long_are_refused) {
  const auto reads = [](std::uint64_t small, std::uint64_t flag, double any, std::uint64_t count) {
    WireWriter out;
    out.number(small).number(flag).number(std::bit_cast<std::uint64_t>(any)).number(count).number(1).number(2);
    return from_wire<Wire, Numbers>(out.take()).has_value();
  };
  EXPECT_TRUE(reads(static_cast<std::uint64_t>(-1), 1, 2, 2));
  EXPECT_FALSE(reads(std::uint64_t{1} << 31, 1, 2, 2));
  EXPECT_FALSE(reads(1, 2, 2, 2));
  EXPECT_FALSE(reads(1, 1, std::numeric_limits<double>::quiet_NaN(), 2));
  EXPECT_FALSE(reads(1, 1, 2, 3));
  EXPECT_FALSE(reads(1, 1, 2, std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace
}  // namespace oomw::reader
