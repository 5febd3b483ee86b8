// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_backlog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "incident/incident_size.h"

namespace oomw {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

Incident incident(const std::string& id, const std::string& comm = "app") {
  Incident made;
  made.id = id;
  made.victims.resize(1);
  made.victims[0].process = {7, 9};
  made.victims[0].comm = comm;
  made.series.resize(500);
  made.memory_stat = {{"anon", 1}, {"file", 2}};
  made.captures.resize(2);
  made.captures[0].result = "ok";
  made.captures[1].result = "skipped";
  return made;
}

// Room for that many incidents as made above.
EvidenceBacklog room_for(std::uint64_t incidents) {
  return EvidenceBacklog(incidents * serialised_bytes(incident("0")));
}

// As a writer with one thread does.
std::optional<Incident> take(EvidenceBacklog& backlog) {
  return backlog.firsts() > 0 ? backlog.take_first() : backlog.take_amendment();
}

std::vector<std::string> take_all(EvidenceBacklog& backlog) {
  std::vector<std::string> ids;
  while (const auto next = take(backlog)) ids.push_back(next->id);
  return ids;
}

TEST(EvidenceBacklogTest, what_waits_of_an_incident_that_is_on_disk_is_an_amendment) {
  EvidenceBacklog backlog;
  backlog.add_first(incident("a", "newer"));
  backlog.add_first(incident("b"));
  backlog.make_amendment("a");
  backlog.make_amendment("c");
  EXPECT_EQ(backlog.firsts(), 1u);
  EXPECT_EQ(backlog.take_amendment()->victims.at(0).comm, "newer");
  EXPECT_EQ(backlog.take_amendment(), std::nullopt);
  EXPECT_EQ(backlog.take_first()->id, "b");
  EXPECT_EQ(backlog.bytes(), 0u);
}

TEST(EvidenceBacklogTest, first_writes_go_before_amendments) {
  EvidenceBacklog backlog;
  backlog.add_amendment(incident("a"));
  backlog.add_first(incident("b"));
  backlog.add_first(incident("c"));
  EXPECT_THAT(take_all(backlog), ElementsAre("b", "c", "a"));
  EXPECT_EQ(backlog.bytes(), 0u);
}

TEST(EvidenceBacklogTest, only_the_newest_form_waits_at_the_place_of_the_first) {
  EvidenceBacklog backlog;
  backlog.add_first(incident("a"));
  backlog.add_first(incident("b"));
  backlog.add_first(incident("a", "renamed"));
  EXPECT_EQ(backlog.firsts(), 2u);
  EXPECT_EQ(take(backlog)->victims.at(0).comm, "renamed");
}

TEST(EvidenceBacklogTest, what_could_not_be_written_goes_behind_the_others) {
  EvidenceBacklog backlog;
  backlog.add_first(incident("a"));
  backlog.add_first(incident("b"));
  backlog.put_back_first(*take(backlog));
  EXPECT_THAT(take_all(backlog), ElementsAre("b", "a"));
}

TEST(EvidenceBacklogTest, a_newer_form_is_not_replaced_by_one_put_back) {
  EvidenceBacklog backlog;
  backlog.add_first(incident("a"));
  const Incident under_way = *take(backlog);
  backlog.add_first(incident("a", "newer"));
  backlog.put_back_first(under_way);
  EXPECT_EQ(backlog.firsts(), 1u);
  EXPECT_EQ(take(backlog)->victims.at(0).comm, "newer");
}

TEST(EvidenceBacklogTest, amendments_are_given_up_before_anything_of_a_first_write) {
  EvidenceBacklog backlog = room_for(2);
  backlog.add_amendment(incident("a"));
  backlog.add_amendment(incident("b"));
  backlog.add_first(incident("c"));
  EXPECT_EQ(backlog.dropped_amendments(), 1u);
  EXPECT_EQ(backlog.slimmed(), 0u);
  EXPECT_THAT(take_all(backlog), ElementsAre("c", "b"));
}

TEST(EvidenceBacklogTest, first_writes_are_slimmed_before_one_is_dropped) {
  EvidenceBacklog backlog = room_for(2);
  for (const char* id : {"a", "b", "c"}) backlog.add_first(incident(id));
  EXPECT_EQ(backlog.firsts(), 3u);
  EXPECT_EQ(backlog.slimmed(), 2u);
  EXPECT_EQ(backlog.dropped_incidents(), 0u);
  const Incident oldest = *take(backlog);
  EXPECT_EQ(oldest.id, "a");
  EXPECT_EQ(oldest.victims.size(), 1u);
  EXPECT_TRUE(oldest.series.empty());
  EXPECT_TRUE(oldest.memory_stat.empty());
  ASSERT_EQ(oldest.captures.size(), 1u);
  EXPECT_EQ(oldest.captures[0].result, "ok");
  for (const char* field : {"series:", "memory_stat:", "captures:", "pressure.watermarks:"}) {
    EXPECT_THAT(oldest.notes, Contains(StartsWith(field)));
  }
}

TEST(EvidenceBacklogTest, the_newest_form_of_a_slim_one_is_whole_and_may_be_slimmed_again) {
  EvidenceBacklog backlog = room_for(2);
  for (const char* id : {"a", "b", "c"}) backlog.add_first(incident(id));
  ASSERT_EQ(backlog.slimmed(), 2u);
  backlog.add_first(incident("a", "newer"));
  EXPECT_LE(backlog.bytes(), 2 * serialised_bytes(incident("0")));
  EXPECT_EQ(backlog.dropped_incidents(), 0u);
  EXPECT_EQ(take(backlog)->victims.at(0).comm, "newer");
}

TEST(EvidenceBacklogTest, a_slim_form_does_not_replace_a_whole_one_that_is_on_disk) {
  EvidenceBacklog backlog = room_for(2);
  for (const char* id : {"a", "b", "c"}) backlog.add_first(incident(id));
  ASSERT_EQ(backlog.slimmed(), 2u);
  backlog.make_amendment("a");
  EXPECT_EQ(backlog.take_amendment(), std::nullopt);
  EXPECT_EQ(backlog.dropped_amendments(), 1u);
  backlog.make_amendment("c");
  EXPECT_FALSE(backlog.take_amendment()->series.empty());
  EXPECT_THAT(take_all(backlog), ElementsAre("b"));
  EXPECT_EQ(backlog.bytes(), 0u);
}

TEST(EvidenceBacklogTest, when_all_are_slim_the_oldest_goes_and_is_counted) {
  EvidenceBacklog backlog = room_for(1);
  constexpr int kMade = 50;
  for (int i = 0; i < kMade; ++i) backlog.add_first(incident(std::to_string(i)));
  EXPECT_GT(backlog.dropped_incidents(), 0u);
  EXPECT_LE(backlog.bytes(), serialised_bytes(incident("0")));
  EXPECT_EQ(backlog.firsts() + backlog.dropped_incidents(), static_cast<std::uint64_t>(kMade));
  EXPECT_EQ(take_all(backlog).back(), "49");
}

Incident of(const std::string& workload, const std::string& id) {
  Incident made = incident(id);
  made.cgroup_path = "/" + workload;
  return made;
}

TEST(EvidenceBacklogTest, a_flood_of_one_container_does_not_delay_its_neighbour) {
  EvidenceBacklog backlog;
  for (int i = 0; i < 400; ++i) backlog.add_first(of("flood", "f" + std::to_string(i)));
  EXPECT_EQ(take(backlog)->id, "f0");
  backlog.add_first(of("neighbour", "n0"));
  backlog.add_first(of("neighbour", "n1"));
  std::vector<std::string> next;
  for (int i = 0; i < 4; ++i) next.push_back(take(backlog)->id);
  EXPECT_THAT(next, ElementsAre("n0", "f1", "n1", "f2"));
}

TEST(EvidenceBacklogTest, different_containers_keep_the_order_of_their_arrival) {
  EvidenceBacklog backlog;
  for (const char* id : {"c", "a", "b"}) backlog.add_first(of(id, id));
  EXPECT_THAT(take_all(backlog), ElementsAre("c", "a", "b"));
}

TEST(EvidenceBacklogTest, a_flood_of_one_container_displaces_nothing_of_its_neighbour) {
  EvidenceBacklog backlog = room_for(4);
  backlog.add_first(of("neighbour", "n"));
  for (int i = 0; i < 1'000; ++i) backlog.add_first(of("flood", "f" + std::to_string(i)));
  EXPECT_GT(backlog.dropped_incidents(), 0u);
  const Incident kept = *take(backlog);
  EXPECT_EQ(kept.id, "n");
  EXPECT_FALSE(kept.series.empty()) << "not even slimmed";
}

TEST(EvidenceBacklogTest, amendments_of_a_flood_displace_none_of_its_neighbour) {
  EvidenceBacklog backlog = room_for(3);
  backlog.add_amendment(of("neighbour", "n"));
  for (int i = 0; i < 20; ++i) backlog.add_amendment(of("flood", "f" + std::to_string(i)));
  EXPECT_EQ(backlog.dropped_amendments(), 18u);
  EXPECT_THAT(take_all(backlog), Contains("n"));
}

TEST(EvidenceBacklogTest, the_last_one_stays_however_large) {
  EvidenceBacklog backlog(1);
  backlog.add_first(incident("a"));
  EXPECT_THAT(take_all(backlog), ElementsAre("a"));
}

}  // namespace
}  // namespace oomw
