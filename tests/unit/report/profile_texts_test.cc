// SPDX-License-Identifier: Apache-2.0
#include "report/profile_texts.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "pprof/codec.h"
#include "reader/wire.h"
#include "support/builders.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::string kFirst = "capture-01-http.pb.gz", kBest = "capture-02-http.pb.gz";

class ProfileTextsTest : public ::testing::Test {
 protected:
  ProfileTextsTest() {
    store(kFirst, "main.early");
    store(kBest, "main.late");
  }
  void store(const std::string& file, const std::string& function) {
    pprof::Profile profile;
    profile.sample_types = {{"inuse_space", "bytes"}};
    profile.functions = {{1, function, function, "", 0}};
    profile.locations = {{1, 0, 1, {{1, 1}}}};
    profile.samples = {{{1}, {100}, {}}};
    OOMW_CHECK(write_file_atomic(directory_ / file, pprof::write(profile)).has_value());
  }
  ProfileTexts read(const reader::ReaderConfig& config = {}) {
    reader::ReaderGroup readers(clock_, config, 1);
    ReadTexts read = read_profiles_apart(incident_, directory_.path(), readers, clock_, std::chrono::seconds(2));
    counters_ = readers.counters().front();
    has_unread_ = read.has_unread;
    return read.texts;
  }

  const SystemClock clock_;
  test::TemporaryDirectory directory_;
  Incident incident_ = test::sample_incident();
  reader::ReaderCounters counters_;
  bool has_unread_ = false;
};

TEST_F(ProfileTextsTest, reader_gives_the_texts_that_this_process_would_make) {
  const ProfileTexts here = read_profiles(incident_, directory_.path()), apart = read();
  EXPECT_THAT(here.growth, AllOf(HasSubstr("main.early"), HasSubstr("main.late")));
  EXPECT_EQ(apart.growth, here.growth);
  EXPECT_EQ(apart.tops, here.tops);
  EXPECT_EQ(counters_.by_kind.at(kProfileTextsJob).done, 1U);
  EXPECT_FALSE(has_unread_);
}

TEST_F(ProfileTextsTest, without_a_reader_the_text_of_the_best_profile_gives_the_reason) {
  const ProfileTexts texts = read({.command = {"/bin/false"}});
  EXPECT_THAT(texts.tops, ElementsAre(Pair(kBest, HasSubstr("not read for this report: failed: the reader"))));
  EXPECT_THAT(texts.growth, IsEmpty());
  EXPECT_EQ(counters_.by_kind.at(kProfileTextsJob).failed, 1U);
  EXPECT_TRUE(has_unread_);
}

TEST_F(ProfileTextsTest, links_and_large_files_are_not_opened) {
  OOMW_CHECK(::unlink((directory_ / kBest).c_str()) == 0);
  OOMW_CHECK(::symlink(kFirst.c_str(), (directory_ / kBest).c_str()) == 0);
  OOMW_CHECK(write_file_atomic(directory_ / kFirst, std::string(kMaxTopBytes + 1, 'x')).has_value());
  EXPECT_THAT(read().tops, IsEmpty());
  EXPECT_EQ(counters_.started, 0U) << "there is nothing to read";
}

TEST_F(ProfileTextsTest, a_file_that_is_no_profile_has_no_text) {
  OOMW_CHECK(write_file_atomic(directory_ / kBest, "no profile").has_value());
  EXPECT_THAT(read().tops, IsEmpty());
  EXPECT_EQ(counters_.done, 1U);
}

std::string answer_with(const std::string& file, const std::string& top, const std::string& growth) {
  return reader::WireWriter().number(1).text(file).text(top).text(growth).take();
}

TEST(DecodeProfileTexts, every_line_is_printable_and_only_files_asked_for_have_a_text) {
  const ReportProfile asked[] = {{"a", ReportProfile::Use::kTop}, {"b", ReportProfile::Use::kTrend}};
  const auto texts = decode_profile_texts(answer_with("a", "1\n\x1b[2J\n", "x\ry"), asked);
  ASSERT_TRUE(texts.has_value());
  EXPECT_THAT(texts->tops, ElementsAre(Pair("a", "1\n\\x1b[2J\n")));
  EXPECT_EQ(texts->growth, "x\\x0dy");
  EXPECT_THAT(decode_profile_texts(answer_with("b", "1", ""), asked)->tops, IsEmpty());
  EXPECT_THAT(decode_profile_texts(answer_with("../c", "1", ""), asked)->tops, IsEmpty());
}

TEST(DecodeProfileTexts, anything_else_is_refused) {
  EXPECT_FALSE(decode_profile_texts("", {}).has_value());
  EXPECT_FALSE(decode_profile_texts("nonsense", {}).has_value());
  EXPECT_FALSE(decode_profile_texts(answer_with("a", "", "") + "more", {}).has_value());
}

}  // namespace
}  // namespace oomw
