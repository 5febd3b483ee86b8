// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/registry_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace oomw {
namespace {

using Kind = RegistryRoom::Kind;

std::vector<RegistryPlace> living(std::string_view home, std::size_t count) {
  std::vector<RegistryPlace> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back({home, {static_cast<std::int64_t>(i)}, std::nullopt});
  return places;
}

TEST(RegistryRoomTest, a_home_over_its_share_gets_no_place_while_others_do) {
  const auto places = living("greedy", 100);
  const RegistryRoom room = room_for("greedy", places, 400);
  EXPECT_EQ(room.kind, Kind::kNone);
  EXPECT_EQ(room.over, "greedy");
  EXPECT_EQ(room_for("neighbour", places, 400).kind, Kind::kFree);
}

TEST(RegistryRoomTest, a_home_over_its_share_takes_the_places_of_its_own_dead) {
  auto places = living("greedy", 100);
  places.push_back({"neighbour", {0}, MonotonicTime{1}});
  places[5].gone = MonotonicTime{7};
  places[9].gone = MonotonicTime{6};
  const RegistryRoom room = room_for("greedy", places, 400);
  EXPECT_EQ(room.kind, Kind::kMade);
  EXPECT_EQ(room.made, 9u);
  EXPECT_EQ(room.over, "");
}

TEST(RegistryRoomTest, where_all_places_are_taken_the_largest_home_gives_up_its_newest) {
  auto places = living("first", 60);
  for (const auto& place : living("second", 40)) places.push_back(place);
  const RegistryRoom room = room_for("victim", places, 100);
  EXPECT_EQ(room.kind, Kind::kMade);
  EXPECT_EQ(room.made, 59u);
  EXPECT_EQ(room.over, "first");
  EXPECT_EQ(room_for("first", places, 100).kind, Kind::kNone);
}

TEST(RegistryRoomTest, the_dead_go_before_the_living) {
  auto places = living("first", 60);
  for (const auto& place : living("second", 40)) places.push_back(place);
  places[70].gone = MonotonicTime{3};
  const RegistryRoom room = room_for("victim", places, 100);
  EXPECT_EQ(room.kind, Kind::kMade);
  EXPECT_EQ(room.made, 70u);
  EXPECT_EQ(room.over, "");
}

}  // namespace
}  // namespace oomw
