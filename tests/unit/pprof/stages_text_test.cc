// SPDX-License-Identifier: Apache-2.0
#include "pprof/stages_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Profile with_leak_of(std::int64_t bytes) {
  Profile profile = sample_profile();
  profile.samples[0].values[1] = bytes;
  return profile;
}

class Stages : public ::testing::Test {
 protected:
  const Profile baseline_ = with_leak_of(1 << 20), middle_ = with_leak_of(2 << 20), kill_ = with_leak_of(4 << 20);
  const std::vector<NamedProfile> stages_ = {
      {"trend-01.pb.gz", baseline_}, {"trend-02.pb.gz", middle_}, {"capture-03-at_kill.pb.gz", kill_}};
};

TEST_F(Stages, a_function_has_what_it_held_in_each) {
  const std::string text = stages_text(stages_, "inuse_space", 8);
  const auto lines = split(text, '\n');
  ASSERT_GE(lines.size(), 2u) << text;
  EXPECT_EQ(lines[0], "   trend-01    trend-02     at_kill       growth  function");
  EXPECT_EQ(lines[1], "   1.00 MiB    2.00 MiB    4.00 MiB    +3.00 MiB  main.leak");
  EXPECT_THAT(text, Not(HasSubstr("main.parse"))) << "it held the same throughout";
}

TEST_F(Stages, two_profiles_or_another_type_have_no_table) {
  EXPECT_EQ(stages_text({stages_[0], stages_[2]}, "inuse_space", 8), "");
  EXPECT_EQ(stages_text(stages_, "cpu", 8), "");
}

TEST_F(Stages, hostile_names_stay_on_their_line) {
  Profile hostile = kill_;
  hostile.functions[2].name = "evil\n\x1b[2J";
  const std::string text = stages_text({stages_[0], stages_[1], {"\x1b.pb", hostile}}, "inuse_space", 8);
  EXPECT_THAT(text, HasSubstr("evil\\x0a"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace oomw::pprof
