// SPDX-License-Identifier: Apache-2.0
#include "store/incident_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "incident/incident_size.h"
#include "store/directory_names.h"
#include "store/incident_reader.h"
#include "store/incident_summary.h"
#include "support/builders.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

namespace fs = std::filesystem;
using test::kKillTime;
using test::sample_capture;
using test::TemporaryDirectory;

// As the correlator hands it over: profiles in the spool.
Incident fresh_incident(unsigned number = 1, std::int64_t days_ago = 0) {
  Incident incident = test::sample_incident();
  incident.time.ns -= days_ago * 86'400'000'000'000;
  std::string day = to_rfc3339(incident.time).substr(0, 19);
  std::erase_if(day, [](char c) { return c == '-' || c == ':'; });
  char short_id[9];
  std::snprintf(short_id, sizeof(short_id), "%08x", number);
  incident.id = day + "Z-" + short_id;
  return incident;
}

Result<> place_text(const EvidenceFile& file, const std::string& target) {
  return write_file_atomic(target, "profile " + file.spool_file);
}

class IncidentStoreTest : public ::testing::Test {
 protected:
  std::string write(const Incident& incident) {
    const auto written = store_.write(incident);
    EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message);
    return written ? written->directory : "";
  }
  std::vector<std::string> entries() const {
    auto names = list_directory(store_.root(), 1000).value();
    std::sort(names.begin(), names.end());
    return names;
  }
  // How many incidents and leftovers were removed. No boot id: the clock is believed.
  static std::size_t prune(IncidentStore& store, const Retention& retention, WallTime now) {
    const Pruned pruned = store.prune(retention, {now, {}, ""}).value();
    return pruned.dropped() + pruned.leftovers;
  }
  std::size_t prune(const Retention& retention, WallTime now) { return prune(store_, retention, now); }
  std::string read(const std::string& path) { return read_file(path, 1u << 20).value_or("?"); }

  TemporaryDirectory directory_;
  IncidentStore store_{directory_.path() + "/data", place_text};
  IncidentReader reader_{directory_.path() + "/data"};
};

TEST_F(IncidentStoreTest, write_when_new_leaves_one_whole_directory) {
  const std::string path = write(fresh_incident());
  EXPECT_EQ(entries(), std::vector<std::string>{"20261121T030405Z-shop-cart-7d9f-cart-00000001"});
  EXPECT_EQ(read(path + "/capture-01-http.pb.gz"), "profile watermark_80.pb.gz");
  EXPECT_EQ(read(path + "/capture-02-http.pb.gz"), "profile watermark_90.pb.gz");
  EXPECT_FALSE(fs::exists(path + "/capture-03-http.pb.gz"));
  const Incident back = *incident_from_json(read(path + "/incident.json"));
  EXPECT_EQ(back.captures[1].file, "capture-02-http.pb.gz");
  EXPECT_EQ(back.captures[2].file, "");
  EXPECT_THAT(read(path + "/report.md"), ::testing::HasSubstr("go tool pprof -top capture-02-http.pb.gz"));
}

TEST_F(IncidentStoreTest, the_report_names_the_copy_of_its_files_in_each_form) {
  EXPECT_THAT(read(write(fresh_incident()) + "/report.md"), ::testing::Not(::testing::HasSubstr("object storage")));
  IncidentStore copied{directory_.path() + "/copied", place_text, IncidentStore::read_profiles_here,
                       [](const std::string& id) { return "s3://b/" + id + "/"; }};
  for (const char* form : {"first", "revision"}) {
    const std::string report = read(copied.write(fresh_incident())->directory + "/report.md");
    EXPECT_THAT(report, ::testing::EndsWith("\n    s3://b/20261121T030405Z-00000001/\n")) << form;
  }
}

// memory.oom.group kills 256 listed victims and more; each may have chosen its command line to be long in JSON.
Incident hostile_group_kill() {
  Incident incident = fresh_incident();
  incident.victims.resize(256, incident.victims.front());
  for (IncidentVictim& victim : incident.victims) victim.cmdline = std::string(4'096, '\x01');
  return incident;
}

TEST_F(IncidentStoreTest, a_group_kill_with_hostile_command_lines_is_listed_and_found) {
  Incident bounded = hostile_group_kill();
  bound_serialised(bounded);
  const std::string path = write(bounded);
  EXPECT_LE(fs::file_size(path + "/incident.json"), 4u << 20);
  const auto listed = reader_.list();
  ASSERT_TRUE(listed.has_value());
  ASSERT_EQ(listed->size(), 1u);
  const Incident& back = listed->front().incident;
  EXPECT_EQ(back.victims.size(), 256u);
  EXPECT_EQ(back.victims.front().cmdline.size(), 4'096u) << "the chosen victim keeps its whole command line";
  EXPECT_LT(back.victims.back().cmdline.size(), 1'000u);
  EXPECT_THAT(back.notes, ::testing::Contains(::testing::HasSubstr("shortened")));
  EXPECT_TRUE(reader_.get(back.id).has_value());
}

TEST_F(IncidentStoreTest, one_that_an_earlier_version_wrote_without_a_bound_is_listed) {
  const std::string path = write(fresh_incident());
  const std::string json = to_json(hostile_group_kill());
  ASSERT_GT(json.size(), 6'000'000u);
  std::ofstream(path + "/incident.json") << json;
  EXPECT_EQ(reader_.list().value().size(), 1u);
}

TEST_F(IncidentStoreTest, write_is_private_to_the_owner) {
  const std::string path = write(fresh_incident());
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((path + "/incident.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(IncidentStoreTest, write_when_amended_keeps_files_and_adds_new_ones) {
  const std::string path = write(fresh_incident());
  Incident amended = fresh_incident();
  amended.container.name = "renamed";
  amended.captures.insert(amended.captures.begin(), sample_capture("watermark_70", 1500, 1, 1));
  amended.captures[0].file = "capture-03-http.pb.gz";
  EXPECT_EQ(write(amended), path);
  EXPECT_EQ(entries().size(), 1u);
  const Incident back = reader_.get("20261121T030405Z-00000001")->incident;
  EXPECT_EQ(back.container.name, "renamed");
  EXPECT_EQ(back.captures[0].file, "capture-03-http.pb.gz");
  EXPECT_EQ(back.captures[1].file, "capture-01-http.pb.gz");
  EXPECT_EQ(read(path + "/capture-03-http.pb.gz"), "profile watermark_70.pb.gz");
  EXPECT_EQ(list_directory(path, 100)->size(), 7u);  // json, report, timeline, three profiles: no leftovers
}

// What places each file, and into which directory entry.
struct Placer {
  std::vector<std::string> placed;
  Result<> operator()(const EvidenceFile& file, const std::string& target) {
    placed.push_back(file.name + " from " + file.spool_file);
    return place_text(file, target);
  }
};

TEST_F(IncidentStoreTest, write_places_each_file_once_and_a_newer_one_of_the_same_name_again) {
  Placer placer;
  IncidentStore store(directory_.path() + "/other", std::ref(placer));
  Incident incident = fresh_incident();
  incident.trend.emplace().points.emplace_back();
  incident.trend->points[0].file = "trend-01.pb.gz";
  incident.trend->points[0].spool_file = "1-trend.pb.gz";
  incident.trend->spool_file = "1-trend.json";
  ASSERT_TRUE(store.write(incident).has_value());
  EXPECT_EQ(placer.placed.size(), 4u);
  placer.placed.clear();
  ASSERT_TRUE(store.write(incident).has_value());
  EXPECT_THAT(placer.placed, ::testing::IsEmpty());
  incident.trend->points[0].spool_file = "2-trend.pb.gz";
  const auto written = store.write(incident);
  ASSERT_TRUE(written.has_value());
  EXPECT_THAT(placer.placed, ::testing::ElementsAre("trend-01.pb.gz from 2-trend.pb.gz"));
  EXPECT_EQ(read(written->directory + "/trend-01.pb.gz"), "profile 2-trend.pb.gz");
  EXPECT_EQ(read(written->directory + "/trend.json"), "profile 1-trend.json");
}

TEST_F(IncidentStoreTest, write_when_a_profile_cannot_be_placed_reports_it_and_writes_the_incident_as_it_was_built) {
  IncidentStore store(directory_.path() + "/data", [](const EvidenceFile&, const std::string&) -> Result<> {
    return fail(ErrorCode::kNotFound, "spool pruned it");
  });
  const Incident incident = fresh_incident();
  const auto written = store.write(incident);
  ASSERT_TRUE(written.has_value());
  ASSERT_EQ(written->unplaced.size(), 2u);
  EXPECT_EQ(written->unplaced[0].name, "capture-01-http.pb.gz");
  EXPECT_THAT(written->unplaced[0].why, ::testing::HasSubstr("spool pruned it"));
  EXPECT_EQ(read(written->directory + "/incident.json"), to_json(incident));
}

TEST_F(IncidentStoreTest, write_when_names_are_hostile_stays_inside) {
  unsigned number = 1;
  for (const std::string& name : {std::string("../../etc"), std::string(".hidden"), std::string("a\nb\"|`"),
                                  std::string(255, 'x'), std::string("\xff\xfe\x80"), std::string("/")}) {
    Incident incident = fresh_incident(number++);
    incident.container.pod_namespace = incident.container.pod_name = incident.container.name = name;
    incident.victims[0].comm = incident.victims[0].cmdline = incident.cgroup_path = name;
    const std::string path = write(incident);
    EXPECT_EQ(fs::path(path).parent_path(), store_.root());
  }
  EXPECT_EQ(reader_.list()->size(), 6u);
  EXPECT_EQ(list_directory(directory_.path(), 10)->size(), 1u);
}

TEST_F(IncidentStoreTest, write_when_a_dead_writer_left_its_temporary_replaces_it) {
  const Incident incident = fresh_incident();
  const std::string leftover = store_.root() + "/" + temporary_name(incident.id, ::getpid());
  fs::create_directories(leftover);
  std::ofstream(leftover + "/incident.json") << "half";
  write(incident);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(reader_.list()->size(), 1u);
}

TEST_F(IncidentStoreTest, write_when_the_disk_is_full_is_no_space_and_leaves_nothing) {
  const std::string mount = directory_.path() + "/small";
  fs::create_directories(mount);
  const std::string command = "mount -t tmpfs -o size=64k tmpfs " + mount + " 2>/dev/null";
  if (::geteuid() != 0 || std::system(command.c_str()) != 0) GTEST_SKIP() << "needs root and mount() for a small tmpfs";
  {
    IncidentStore store(mount, place_text);
    std::ofstream(mount + "/ballast") << std::string(40'000, 'x');
    Incident incident = fresh_incident();
    incident.victims.resize(200, incident.victims[0]);
    const auto written = store.write(incident);
    EXPECT_FALSE(written.has_value());
    EXPECT_EQ(written ? ErrorCode::kInternal : written.error().code, ErrorCode::kNoSpace);
    EXPECT_TRUE(list_directory(store.root(), 10)->empty());
    fs::remove(mount + "/ballast");
    incident.victims.resize(1);
    EXPECT_TRUE(store.write(incident).has_value());
  }
  EXPECT_EQ(std::system(("umount " + mount).c_str()), 0);
}

TEST_F(IncidentStoreTest, write_and_prune_when_there_are_many_measure_only_those_they_change) {
  for (unsigned i = 0; i < 50; ++i) {
    write(fresh_incident(i));
    write(fresh_incident(i));
    (void)prune({.count = 10}, kKillTime);
  }
  EXPECT_EQ(reader_.list()->size(), 10u);
  EXPECT_LE(store_.measured(), 50u * 3);
}

TEST_F(IncidentStoreTest, write_when_a_person_deleted_it_writes_it_anew) {
  fs::remove_all(write(fresh_incident()));
  const std::string path = write(fresh_incident());
  EXPECT_TRUE(fs::exists(path + "/incident.json"));
  EXPECT_EQ(reader_.list()->size(), 1u);
}

TEST_F(IncidentStoreTest, write_when_a_person_renamed_it_amends_it_there) {
  const std::string path = write(fresh_incident());
  const std::string renamed = store_.root() + "/20261121T030405Z-kept-for-later-00000001";
  fs::rename(path, renamed);
  EXPECT_EQ(write(fresh_incident()), renamed);
  EXPECT_EQ(reader_.list()->size(), 1u);
}

TEST_F(IncidentStoreTest, write_when_the_data_dir_was_emptied_goes_on) {
  write(fresh_incident(1));
  fs::remove_all(directory_.path() + "/data");
  write(fresh_incident(2));
  EXPECT_EQ(prune({}, kKillTime), 0u);
  EXPECT_EQ(reader_.list()->size(), 1u);
}

TEST_F(IncidentStoreTest, list_when_others_put_things_there_skips_them) {
  write(fresh_incident(2));
  write(fresh_incident(1, 1));
  const std::string root = store_.root();
  fs::create_directories(root + "/lost+found");
  fs::create_directories(root + "/20261121T030405Z-a-b-c-0000000a");  // no incident.json
  fs::create_directories(root + "/20261121T030405Z-a-b-c-0000000b");
  std::ofstream(root + "/20261121T030405Z-a-b-c-0000000b/incident.json") << "{\"schema_version\":1";
  fs::create_directories(root + "/20261121T030405Z-a-b-c-0000000c/incident.json");
  fs::create_directories(root + "/20261121T030405Z-a-b-c-0000000d");
  ASSERT_EQ(::mkfifo((root + "/20261121T030405Z-a-b-c-0000000d/incident.json").c_str(), 0600), 0);
  std::ofstream(root + "/20261121T030405Z-a-b-c-0000000e") << "a file";
  fs::create_directory_symlink(root + "/20261121T030405Z-shop-cart-7d9f-cart-00000002",
                               root + "/20261121T030405Z-a-b-c-0000000f");
  fs::create_directories(root + "/.tmp-20261121T030405Z-00000009-1");
  const auto all = reader_.list();
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].incident.id, "20261120T030405Z-00000001");
  EXPECT_EQ((*all)[1].incident.id, "20261121T030405Z-00000002");
}

TEST_F(IncidentStoreTest, each_word_of_a_filter_narrows_the_list) {
  write(fresh_incident(0x0a));
  const IncidentSummary summary = summary_of(fresh_incident());
  ASSERT_FALSE(summary.cause.empty());
  const IncidentFilter right{.pod_namespace = summary.pod_namespace, .cause = summary.cause};
  EXPECT_EQ(reader_.list(right)->size(), 1u);
  for (auto word :
       {&IncidentFilter::pod_namespace, &IncidentFilter::pod, &IncidentFilter::container, &IncidentFilter::cause}) {
    IncidentFilter wrong;
    wrong.*word = "another";
    EXPECT_EQ(reader_.list(wrong)->size(), 0u);
  }
}

TEST_F(IncidentStoreTest, find_a_whole_name_before_one_that_has_it) {
  write(fresh_incident(0x0a, 1));
  Incident longer = fresh_incident(0x0b);
  longer.container.name += "-debug";
  longer.container.pod_name += "-b";
  write(longer);
  for (const char* whole : {"cart", "cart-7d9f"}) {
    EXPECT_EQ(reader_.get(whole)->incident.id, "20261120T030405Z-0000000a") << whole;
  }
  for (const char* part : {"cart-7d9", "cart-debug", "shop"}) {
    EXPECT_EQ(reader_.get(part)->incident.id, "20261121T030405Z-0000000b") << part << ": the newest of several";
  }
}

TEST_F(IncidentStoreTest, list_when_nothing_was_written_is_empty_and_without_a_directory_an_error) {
  EXPECT_EQ(reader_.list().error().code, ErrorCode::kNotFound);
  fs::create_directories(fs::path(reader_.root()).parent_path());
  EXPECT_TRUE(reader_.list()->empty());
}

TEST_F(IncidentStoreTest, find_when_the_prefix_is_unique_finds_it) {
  write(fresh_incident(0x0a));
  write(fresh_incident(0x0b));
  EXPECT_EQ(reader_.get("20261121T030405Z-0000000a")->incident.id, "20261121T030405Z-0000000a");
  EXPECT_EQ(reader_.get("20261121T030405Z-shop-cart-7d9f-cart-0000000b")->incident.id, "20261121T030405Z-0000000b");
  EXPECT_EQ(reader_.get("2026")->incident.id, "20261121T030405Z-0000000b") << "the newest of several";
  EXPECT_EQ(reader_.get("2027").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(reader_.get("../../etc").error().code, ErrorCode::kNotFound);
}

TEST_F(IncidentStoreTest, get_when_a_directory_is_named_takes_it_wherever_it_lies) {
  const std::string path = write(fresh_incident(0x0a)), copy = directory_.path() + "/copy";
  fs::copy(path, copy);
  EXPECT_EQ(reader_.get(path)->incident.id, "20261121T030405Z-0000000a");
  EXPECT_EQ(reader_.get(copy)->directory, copy);
  EXPECT_EQ(reader_.get(directory_.path()).error().code, ErrorCode::kNotFound) << "no incident.json in it";
}

TEST_F(IncidentStoreTest, list_when_filtered_by_time_has_those_alone) {
  for (unsigned days = 0; days < 5; ++days) write(fresh_incident(days, days));
  const WallTime second{kKillTime.ns - kKillTime.ns % 1'000'000'000};
  const auto days_ago = [&](std::int64_t days) { return WallTime{second.ns - days * 86'400'000'000'000}; };
  const auto found = reader_.list({days_ago(3), days_ago(1)});
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->front().incident.id, "20261118T030405Z-00000003");
  EXPECT_EQ(reader_.list({days_ago(0), {}})->size(), 1u);
}

TEST_F(IncidentStoreTest, prune_when_beyond_count_drops_the_oldest) {
  for (unsigned i = 0; i < 5; ++i) write(fresh_incident(i, i));
  EXPECT_EQ(prune({.count = 2}, kKillTime), 3u);
  const auto left = *reader_.list();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[1].incident.id, "20261121T030405Z-00000000");
}

TEST_F(IncidentStoreTest, prune_when_another_process_wrote_them_drops_the_oldest) {
  for (unsigned i = 0; i < 5; ++i) write(fresh_incident(i, i));
  IncidentStore restarted(directory_.path() + "/data", place_text);
  EXPECT_EQ(prune(restarted, {.count = 2}, kKillTime), 3u);
  EXPECT_EQ(prune(restarted, {.count = 2}, kKillTime), 0u);
  EXPECT_EQ(reader_.list()->size(), 2u);
}

TEST_F(IncidentStoreTest, prune_when_a_person_deleted_and_added_some_counts_what_is_there) {
  for (unsigned i = 0; i < 4; ++i) write(fresh_incident(i, i));
  ASSERT_EQ(prune({.count = 10}, kKillTime), 0u);
  fs::remove_all(reader_.get("20261119")->directory);
  const std::string added = store_.root() + "/20251121T030405Z-a-b-c-0000000a";
  fs::create_directories(added);
  std::ofstream(added + "/incident.json") << "{}";
  EXPECT_EQ(prune({.count = 3}, kKillTime), 1u);
  EXPECT_FALSE(fs::exists(added));
  EXPECT_EQ(reader_.list()->size(), 3u);
}

TEST_F(IncidentStoreTest, prune_when_it_lost_its_json_leaves_it) {
  write(fresh_incident(2));
  const std::string path = write(fresh_incident(1, 3));
  fs::remove(path + "/incident.json");
  EXPECT_EQ(prune({.count = 1}, kKillTime), 0u);
  EXPECT_TRUE(fs::exists(path + "/report.md"));
}

TEST_F(IncidentStoreTest, prune_when_an_hour_went_by_looks_at_sizes_again) {
  write(fresh_incident(1, 1));
  const std::string path = write(fresh_incident(2));
  ASSERT_EQ(prune({}, kKillTime), 0u);
  std::ofstream(path + "/notes.txt") << std::string(1u << 20, 'x');
  EXPECT_EQ(prune({.bytes = 1u << 20}, {kKillTime.ns + 1}), 0u);
  EXPECT_EQ(prune({.bytes = 1u << 20}, {kKillTime.ns + 3'601'000'000'000}), 1u);
}

TEST_F(IncidentStoreTest, prune_within_one_second_keeps_the_latest) {
  Incident first = fresh_incident(9);
  Incident second = fresh_incident(3);
  first.time.ns -= 200;
  second.time.ns -= 100;
  write(first);
  write(second);
  EXPECT_EQ(prune({.count = 1}, kKillTime), 1u);
  EXPECT_EQ(reader_.list()->front().incident.id, second.id);
}

TEST_F(IncidentStoreTest, prune_when_beyond_age_drops_the_old) {
  for (unsigned i = 0; i < 5; ++i) write(fresh_incident(i, i * 10));
  EXPECT_EQ(prune({.age = std::chrono::hours(24 * 15)}, kKillTime), 3u);
  EXPECT_EQ(reader_.list()->size(), 2u);
}

TEST_F(IncidentStoreTest, prune_when_beyond_bytes_drops_the_oldest_but_never_the_newest) {
  for (unsigned i = 0; i < 3; ++i) write(fresh_incident(i, i));
  EXPECT_EQ(prune({.bytes = 1}, kKillTime), 2u);
  EXPECT_EQ(reader_.list()->size(), 1u);
}

TEST_F(IncidentStoreTest, prune_when_others_put_things_there_leaves_them) {
  write(fresh_incident(1, 3));
  const std::string root = store_.root();
  fs::create_directories(root + "/notes");
  fs::create_directories(root + "/20261101T030405Z-a-b-c-0000000a");  // named like ours, no incident.json
  fs::create_directories(root + "/.tmp-elsewhere");
  EXPECT_EQ(prune({.count = 0}, kKillTime), 1u);
  EXPECT_EQ(entries(), (std::vector<std::string>{".tmp-elsewhere", "20261101T030405Z-a-b-c-0000000a", "notes"}));
}

TEST_F(IncidentStoreTest, prune_when_writers_died_removes_what_they_left) {
  write(fresh_incident(1));
  const std::string own = store_.root() + "/" + temporary_name("20261121T030405Z-00000009", ::getpid());
  const std::string alive = store_.root() + "/" + temporary_name("20261121T030405Z-00000009", ::getppid());
  fs::create_directories(own);
  fs::create_directories(alive);
  struct stat status {};
  ASSERT_EQ(::stat(alive.c_str(), &status), 0);
  EXPECT_EQ(prune({}, {status.st_mtime * 1'000'000'000}), 1u);
  EXPECT_FALSE(fs::exists(own));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_EQ(prune({}, {(status.st_mtime + 3'601) * 1'000'000'000}), 1u);
  EXPECT_FALSE(fs::exists(alive));
}

}  // namespace
}  // namespace oomw
