// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

const std::vector<std::string> kCommands = {"run", "doctor", "incidents", "show", "top", "trend"};

TEST(Suggestion, a_typing_error_names_the_nearest_candidate) {
  EXPECT_EQ(did_you_mean("incident", kCommands), " (did you mean 'incidents'?)");
  EXPECT_EQ(did_you_mean("doktor", kCommands), " (did you mean 'doctor'?)");
  EXPECT_EQ(did_you_mean("tred", kCommands), " (did you mean 'trend'?)");
}

TEST(Suggestion, the_start_of_a_candidate_is_near_however_long_the_rest) {
  EXPECT_EQ(did_you_mean("inc", kCommands), " (did you mean 'incidents'?)");
}

TEST(Suggestion, another_word_gets_none) {
  EXPECT_EQ(did_you_mean("frobnicate", kCommands), "");
  EXPECT_EQ(did_you_mean("", kCommands), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), kCommands), "");
}

TEST(Suggestion, two_letters_that_changed_places_are_one_slip) {
  EXPECT_EQ(did_you_mean("shwo", kCommands), " (did you mean 'show'?)");
  EXPECT_EQ(did_you_mean("rnu", kCommands), " (did you mean 'run'?)");
}

}  // namespace
}  // namespace oomw
