// SPDX-License-Identifier: Apache-2.0
#include "store/incident_index.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

namespace fs = std::filesystem;

const WallTime kTime{1'795'230'245'000'000'000};  // 2026-11-21T03:04:05Z

class IncidentIndexTest : public ::testing::Test {
 protected:
  static std::string name_of(unsigned number, const std::string& middle = "a-b-c") {
    char short_id[9];
    std::snprintf(short_id, sizeof(short_id), "%08x", number);
    return "20261121T030405Z-" + middle + "-" + short_id;
  }
  void make(const std::string& name, std::size_t bytes = 10) {
    fs::create_directories(root_ + "/" + name);
    std::ofstream(root_ + "/" + name + "/incident.json") << std::string(bytes, 'x');
  }
  static IncidentFacts facts(std::int64_t after_ns) { return {"a", "a/b", 1, {kTime.ns + after_ns}}; }
  KeptIncident oldest() {
    const std::vector<KeptIncident> all = index_.incidents();
    return *std::ranges::min_element(all, {}, &KeptIncident::time);
  }
  void refresh() { EXPECT_TRUE(index_.refresh().has_value()); }

  test::TemporaryDirectory directory_;
  const std::string root_ = directory_.path() + "/incidents";
  const bool made_ = fs::create_directories(root_);
  IncidentIndex index_{root_};
};

TEST_F(IncidentIndexTest, refresh_when_first_finds_what_is_there) {
  make(name_of(1), 10);
  make(name_of(2), 20);
  fs::create_directories(root_ + "/notes");
  refresh();
  EXPECT_EQ(index_.size(), 2u);
  EXPECT_EQ(index_.bytes(), 30u);
  EXPECT_EQ(index_.find("20261121T030405Z-00000002"), name_of(2));
  EXPECT_EQ(index_.find("20261121T030405Z-00000003"), "");
  EXPECT_EQ(index_.find("not an id"), "");
}

TEST_F(IncidentIndexTest, refresh_when_nothing_changed_measures_nothing) {
  make(name_of(1));
  make(name_of(2));
  for (int i = 0; i < 100; ++i) refresh();
  EXPECT_EQ(index_.measured(), 2u);
}

TEST_F(IncidentIndexTest, refresh_when_a_person_deletes_moves_and_adds_sees_it) {
  make(name_of(1));
  make(name_of(2));
  make(name_of(3));
  refresh();
  fs::remove_all(root_ + "/" + name_of(1));
  fs::rename(root_ + "/" + name_of(2), directory_.path() + "/elsewhere");
  make("20251121T030405Z-a-b-c-00000004", 7);
  refresh();
  EXPECT_EQ(index_.find("20261121T030405Z-00000001"), "");
  EXPECT_EQ(index_.find("20261121T030405Z-00000002"), "");
  EXPECT_EQ(index_.find("20261121T030405Z-00000003"), name_of(3));
  EXPECT_EQ(oldest().name, "20251121T030405Z-a-b-c-00000004");
  EXPECT_EQ(index_.bytes(), 17u);
  EXPECT_EQ(index_.measured(), 4u);
}

TEST_F(IncidentIndexTest, refresh_when_a_copy_is_under_way_counts_it_once_it_is_whole) {
  refresh();
  fs::create_directories(root_ + "/" + name_of(1));
  refresh();
  EXPECT_EQ(index_.size(), 0u);
  EXPECT_EQ(index_.find("20261121T030405Z-00000001"), name_of(1)) << "it is amended, not written beside";
  make(name_of(1), 10);
  refresh();
  EXPECT_EQ(index_.size(), 1u);
  EXPECT_EQ(index_.bytes(), 10u);
}

TEST_F(IncidentIndexTest, refresh_when_the_directory_was_replaced_knows_the_new_one) {
  make(name_of(1));
  refresh();
  fs::rename(root_, directory_.path() + "/old");
  fs::create_directories(root_);
  make(name_of(2));
  refresh();
  EXPECT_EQ(index_.find("20261121T030405Z-00000001"), "");
  EXPECT_EQ(index_.find("20261121T030405Z-00000002"), name_of(2));
}

TEST_F(IncidentIndexTest, refresh_when_sizes_are_forgotten_measures_them_anew) {
  make(name_of(1), 10);
  refresh();
  std::ofstream(root_ + "/" + name_of(1) + "/notes.txt") << "12345";
  refresh();
  EXPECT_EQ(index_.bytes(), 10u);
  index_.forget();
  refresh();
  EXPECT_EQ(index_.bytes(), 15u);
  EXPECT_EQ(index_.size(), 1u);
}

TEST_F(IncidentIndexTest, refresh_when_there_is_no_directory_is_not_found) {
  fs::remove(root_);
  EXPECT_EQ(index_.refresh().error().code, ErrorCode::kNotFound);
}

TEST_F(IncidentIndexTest, oldest_within_one_second_is_the_one_that_was_noted_earlier) {
  refresh();
  make(name_of(1));
  make(name_of(2));
  index_.note(name_of(2), facts(100));
  index_.note(name_of(1), facts(200));
  refresh();
  EXPECT_EQ(oldest().name, name_of(2));
  index_.forget();
  refresh();
  EXPECT_EQ(oldest().name, name_of(2)) << "a listing has the names, not the times";
  index_.erase(name_of(2));
  EXPECT_EQ(oldest().name, name_of(1));
}

TEST_F(IncidentIndexTest, note_when_the_time_is_not_the_names_takes_the_names) {
  refresh();
  make(name_of(1));
  index_.note(name_of(1), facts(5'000'000'000));
  EXPECT_EQ(oldest().time, kTime);
  EXPECT_EQ(index_.find("20261121T030405Z-00000001"), name_of(1));
}

TEST_F(IncidentIndexTest, note_when_amended_counts_the_new_size) {
  refresh();
  make(name_of(1), 10);
  index_.note(name_of(1), facts(0));
  make(name_of(1), 50);
  index_.note(name_of(1), facts(0));
  EXPECT_EQ(index_.bytes(), 50u);
  EXPECT_EQ(index_.size(), 1u);
}

TEST_F(IncidentIndexTest, facts_when_restored_hold_as_long_as_the_json_is_the_same_file) {
  make(name_of(1));
  make(name_of(2));
  refresh();
  EXPECT_EQ(index_.without_facts(1), std::vector<std::string>{name_of(1)});
  index_.set_facts(name_of(1), facts(100));
  index_.set_facts(name_of(2), facts(200));
  EXPECT_TRUE(index_.without_facts(9).empty());
  const auto known = index_.known_facts();

  fs::last_write_time(root_ + "/" + name_of(2) + "/incident.json",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  IncidentIndex next(root_);
  next.restore(known);
  ASSERT_TRUE(next.refresh().has_value());
  EXPECT_EQ(next.without_facts(9), std::vector<std::string>{name_of(2)}) << "somebody wrote another incident.json";
  EXPECT_EQ(next.incidents().front().facts, facts(100));

  IncidentIndex late(root_);
  ASSERT_TRUE(late.refresh().has_value());
  late.restore(known);
  EXPECT_EQ(late.without_facts(9), std::vector<std::string>{name_of(2)}) << "a kill came before the first pruning";
}

TEST_F(IncidentIndexTest, newest_found_is_not_one_that_this_process_wrote) {
  refresh();
  EXPECT_FALSE(index_.newest_found().has_value());
  make(name_of(1));
  index_.note(name_of(1), facts(0));
  EXPECT_FALSE(index_.newest_found().has_value());
  make("20251121T030405Z-a-b-c-00000004");
  refresh();
  EXPECT_EQ(to_rfc3339(*index_.newest_found()).substr(0, 4), "2025");
}

TEST_F(IncidentIndexTest, temporaries_are_known_while_they_are_there) {
  fs::create_directories(root_ + "/.tmp-20261121T030405Z-00000009-1");
  refresh();
  EXPECT_EQ(index_.temporaries().size(), 1u);
  fs::remove(root_ + "/.tmp-20261121T030405Z-00000009-1");
  fs::create_directories(root_ + "/.tmp-20261121T030405Z-00000008-2");
  refresh();
  EXPECT_EQ(index_.temporaries(), std::set<std::string>{".tmp-20261121T030405Z-00000008-2"});
}

}  // namespace
}  // namespace oomw
