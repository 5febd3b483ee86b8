// SPDX-License-Identifier: Apache-2.0
#include "pprof/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::HasSubstr;

// The least that is a profile: string "", type "inuse_space", one unpacked sample of 7.
class RawProfile {
 public:
  RawProfile() : out_(bytes_) {
    for (const char* text : {"", "inuse_space"}) out_.add_string(6, text);
    protozero::pbf_writer type(out_, 1);
    type.add_int64(1, 1);
  }
  RawProfile& sample(std::initializer_list<std::int64_t> values, std::initializer_list<std::uint64_t> locations = {}) {
    protozero::pbf_writer m(out_, 2);
    for (const auto id : locations) m.add_uint64(1, id);  // one field each: not packed
    for (const auto value : values) m.add_int64(2, value);
    return *this;
  }
  RawProfile& location(std::uint64_t id, std::uint64_t mapping, std::uint64_t function) {
    protozero::pbf_writer m(out_, 4);
    m.add_uint64(1, id);
    m.add_uint64(2, mapping);
    protozero::pbf_writer line(m, 4);
    line.add_uint64(1, function);
    return *this;
  }
  protozero::pbf_writer& writer() { return out_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  protozero::pbf_writer out_;
};

std::string error_of(std::string_view bytes, const ReadLimits& limits = {}) {
  const auto read_back = read(bytes, limits);
  return read_back ? "" : read_back.error().message;
}

TEST(Read, a_profile_written_comes_back_with_every_field) {
  const Profile before = sample_profile();
  const auto after = read(write(before));
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(after->sample_types, before.sample_types);
  ASSERT_EQ(after->samples.size(), 2u);
  EXPECT_EQ(after->samples[0].location_ids, before.samples[0].location_ids);
  EXPECT_EQ(after->samples[1].values, before.samples[1].values);
  EXPECT_EQ(after->samples[0].labels[0].number, 100);
  EXPECT_EQ(after->samples[1].labels[0].text, "a");
  EXPECT_EQ(after->mappings[0].build_id, "b1d");
  EXPECT_TRUE(after->mappings[0].has_inline_frames);
  EXPECT_EQ(after->locations[3].lines[1].line, 11);
  EXPECT_EQ(after->functions[2].filename, "leak.go");
  EXPECT_EQ(after->functions[2].start_line, 5);
  EXPECT_EQ(after->time_nanos, before.time_nanos);
  EXPECT_EQ(after->period_type, before.period_type);
  EXPECT_EQ(after->period, before.period);
  EXPECT_EQ(after->comments, before.comments);
}

TEST(Read, equal_profiles_are_equal_bytes) { EXPECT_EQ(write(sample_profile()), write(sample_profile())); }

TEST(Read, a_profile_served_by_go_is_read_whole) {
  const auto profile = read(fixture());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->total(profile->type_index("inuse_space")), 42'321'476);
  EXPECT_EQ(profile->period, 524'288);
  EXPECT_EQ(read(write(*profile))->total(3), 42'321'476);
}

TEST(Read, bare_protobuf_and_unpacked_numbers_are_accepted) {
  const auto profile = read(RawProfile().sample({7}).bytes());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->total(0), 7);
}

TEST(Read, several_gzip_members_are_one_profile) {
  const std::string raw = RawProfile().sample({7}).bytes();
  const auto profile = read(gzip(raw.substr(0, 10)) + gzip(raw.substr(10)));
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->total(0), 7);
}

TEST(Read, garbage_after_the_gzip_stream_is_named) {
  EXPECT_EQ(error_of(fixture() + "<html>"), "6 bytes of garbage after the gzip stream");
}

TEST(Read, every_cut_of_a_gzip_profile_is_truncated) {
  const std::string whole = fixture();
  for (std::size_t size = 2; size < whole.size(); ++size) {
    ASSERT_THAT(error_of(whole.substr(0, size)), HasSubstr("truncated")) << size;
  }
}

TEST(Read, a_field_that_ends_early_is_truncated) {
  const std::string raw = RawProfile().sample({7}).bytes();
  EXPECT_THAT(error_of(raw.substr(0, raw.size() - 1)), HasSubstr("truncated"));
}

TEST(Read, a_damaged_gzip_stream_is_refused) {
  std::string bytes = fixture();
  bytes[bytes.size() - 6] ^= 1;  // in the CRC
  EXPECT_THAT(error_of(bytes), HasSubstr("damaged gzip"));
}

TEST(Read, other_bodies_are_not_profiles) {
  EXPECT_EQ(error_of(""), "empty");
  EXPECT_EQ(error_of("<html><body>404</body></html>"), "is text, not a pprof profile (gzip or protobuf)");
  EXPECT_EQ(error_of("heap profile: 1: 2 [3: 4] @ heap/1048576\n"), "is text, not a pprof profile (gzip or protobuf)");
  EXPECT_EQ(error_of(std::string(64, '\0')), "not a pprof profile: neither gzip nor a well-formed protobuf");
}

TEST(Read, a_value_missing_or_too_many_is_refused) {
  EXPECT_EQ(error_of(RawProfile().location(5, 0, 0).sample({}, {5}).bytes()), "a sample has 0 values for 1 types");
  EXPECT_EQ(error_of(RawProfile().sample({1, 2}).bytes()), "a sample has 2 values for 1 types");
}

TEST(Read, ids_that_lead_nowhere_are_refused) {
  EXPECT_EQ(error_of(RawProfile().sample({1}, {5}).bytes()), "no location 5");
  EXPECT_EQ(error_of(RawProfile().location(5, 0, 6).bytes()), "no function 6");
  EXPECT_EQ(error_of(RawProfile().location(5, 7, 0).bytes()), "no mapping 7");
  EXPECT_EQ(error_of(RawProfile().location(0, 0, 0).bytes()), "location with id 0");
  EXPECT_EQ(error_of(RawProfile().location(5, 0, 0).location(5, 0, 0).bytes()), "two of location 5");
}

TEST(Read, strings_that_do_not_exist_are_refused) {
  RawProfile beyond;
  beyond.writer().add_int64(13, 2);
  EXPECT_EQ(error_of(beyond.bytes()), "no string 2");
  RawProfile negative;
  negative.writer().add_int64(13, -1);
  EXPECT_EQ(error_of(negative.bytes()), "no string -1");
}

TEST(Read, a_field_of_another_wire_type_is_skipped_as_unknown) {
  RawProfile raw;
  raw.writer().add_string(9, "not a number");  // time_nanos
  raw.writer().add_fixed64(12, 1);             // period
  const auto profile = read(raw.sample({7}).bytes());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->time_nanos, 0);
  EXPECT_EQ(profile->period, 0);
}

TEST(Read, a_gzip_bomb_stops_at_the_limit) {
  const auto bomb = read(gzip(std::string(8u << 20, '\0')), {.max_inflated_bytes = 1u << 20});
  ASSERT_FALSE(bomb.has_value());
  EXPECT_EQ(bomb.error().code, ErrorCode::kLimit);
}

TEST(Read, too_many_items_are_a_limit) {
  RawProfile raw;
  for (int i = 0; i < 100; ++i) raw.sample({1});
  EXPECT_EQ(read(raw.bytes(), {.max_items = 50}).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(read(raw.bytes(), {.max_items = 200}).has_value());
}

TEST(Read, a_long_string_used_often_is_a_limit) {
  RawProfile raw;
  raw.writer().add_string(6, std::string(100'000, 'x'));  // string 2
  for (int i = 0; i < 100; ++i) raw.writer().add_int64(13, 2);
  EXPECT_EQ(read(raw.bytes(), {.max_inflated_bytes = 1u << 20}).error().code, ErrorCode::kLimit);
}

TEST(Gunzip, an_output_of_exactly_the_limit_is_fine_and_one_more_is_not) {
  const std::string packed = gzip(std::string(100'000, 'x'));
  EXPECT_EQ(gunzip(packed, 100'000)->size(), 100'000u);
  EXPECT_EQ(gunzip(packed, 99'999).error().code, ErrorCode::kLimit);
  EXPECT_EQ(gunzip(gzip(""), 0)->size(), 0u);
}

// Of the profile as it was read; comments come after it.
std::string commented(const std::string& bytes, const std::vector<std::string>& comments) {
  std::uint64_t string_count = 0;
  EXPECT_TRUE(read(bytes, {}, &string_count).has_value());
  return bytes + comment_member(string_count, comments);
}

TEST(CommentMember, adds_comments_and_touches_nothing_else) {
  const std::string before = fixture();
  const std::string after = commented(before, {"oomwitness: method=http", "second"});
  const auto profile = read(after);
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_THAT(profile->comments, ::testing::ElementsAre("oomwitness: method=http", "second"));
  EXPECT_TRUE(gunzip(after, 1u << 20)->starts_with(*gunzip(before, 1u << 20)));
}

TEST(CommentMember, keeps_the_comments_that_were_there) {
  std::uint64_t string_count = 0;
  const std::string bytes = write(sample_profile(), &string_count);
  const auto profile = read(bytes + comment_member(string_count, {"later"}));
  EXPECT_THAT(profile->comments, ::testing::ElementsAre("first", "later"));
  EXPECT_THAT(read(commented(commented(bytes, {"later"}), {"last"}))->comments,
              ::testing::ElementsAre("first", "later", "last"));
}

TEST(GzipInto, the_pieces_are_the_whole_and_stop_when_the_sink_fails) {
  std::string bytes;
  for (std::uint32_t n = 1; bytes.size() < 1'000'000; n = n * 1664525 + 1013904223) bytes += std::to_string(n);
  std::string out;
  int pieces = 0;
  ASSERT_TRUE(gzip_into(bytes, [&](std::string_view piece) -> Result<> {
    out += piece;
    ++pieces;
    return {};
  }));
  EXPECT_GT(pieces, 1);
  EXPECT_EQ(gunzip(out, 2'000'000).value(), bytes);
  int tries = 0;
  EXPECT_FALSE(gzip_into(bytes, [&](std::string_view) -> Result<> {
    ++tries;
    return fail(ErrorCode::kNoSpace, "full");
  }));
  EXPECT_EQ(tries, 1);
}

}  // namespace
}  // namespace oomw::pprof
