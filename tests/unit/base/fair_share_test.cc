// SPDX-License-Identifier: Apache-2.0
#include "base/fair_share.h"

#include <gtest/gtest.h>

#include <vector>

namespace oomw {
namespace {

TEST(FairShareTest, within_the_bound_nobody_loses) {
  EXPECT_FALSE(who_loses({}, 0));
  const std::vector<ShareUse> uses = {{{"a", ""}, 6, true}, {{"b", ""}, 4, true}};
  EXPECT_FALSE(who_loses(uses, 10));
  EXPECT_EQ(who_loses(uses, 9), 0u);
}

TEST(FairShareTest, who_keeps_to_the_share_never_loses) {
  // "b" alone has something to spare, but no more than a third of the bound.
  const std::vector<ShareUse> uses = {{{"a", ""}, 4, false}, {{"b", ""}, 3, true}, {{"c", ""}, 8, false}};
  EXPECT_EQ(who_loses(uses, 9), 2u);
}

TEST(FairShareTest, who_has_something_to_spare_goes_before_a_larger_one_without) {
  const std::vector<ShareUse> uses = {{{"a", ""}, 8, false}, {{"b", ""}, 7, true}, {{"c", ""}, 1, true}};
  EXPECT_EQ(who_loses(uses, 12), 1u);
}

TEST(FairShareTest, the_namespace_is_judged_before_its_containers) {
  const std::vector<ShareUse> uses = {
      {{"a", "many"}, 3, true}, {{"b", "many"}, 4, true}, {{"c", "many"}, 3, true}, {{"d", "one"}, 6, true}};
  EXPECT_EQ(who_loses(uses, 15), 1u);
}

TEST(FairShareTest, a_container_is_not_taken_for_a_namespace_of_its_name) {
  const std::vector<ShareUse> uses = {{{"shop", ""}, 4, true}, {{"b", "shop"}, 4, true}, {{"c", ""}, 5, true}};
  EXPECT_EQ(who_loses(uses, 12), 2u);
}

TEST(FairShareTest, an_owner_keeps_its_first_and_its_newest_longest) {
  const ShareOwner one{"one", ""}, other{"other", ""};
  std::vector<ShareEntry> entries = {{&one, 1}, {&other, 1}, {&one, 1}, {&one, 1}};
  EXPECT_EQ(entry_to_drop(entries, 3), 2u);
  entries.erase(entries.begin() + 2);
  EXPECT_EQ(entry_to_drop(entries, 2), 0u);
  entries.erase(entries.begin());
  EXPECT_EQ(entry_to_drop(entries, 1), 0u) << "ties go to the owner whose newest is the oldest";
}

TEST(FairShareTest, texts_name_the_container_and_its_namespace) {
  EXPECT_EQ(to_text(ShareOwner{"3f2a", "namespace shop"}), "3f2a in namespace shop");
  EXPECT_EQ(to_text(ShareOwner{"3f2a", ""}), "3f2a");
  EXPECT_EQ(to_text(ShareOwner{}), "a container that is not known");
}

}  // namespace
}  // namespace oomw
