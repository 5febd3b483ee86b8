// SPDX-License-Identifier: Apache-2.0
// How often one kill is written: once at first, and once for all that comes late. Writing itself causes nothing.
#include "daemon/pipeline.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "store/incident_store.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr CgroupId kShop{100};
constexpr ProcessKey kVictim{4242, 77};
constexpr MonotonicTime kKill{20'000'000'000};

// What writes an incident, or reads it for its report, cannot change it.
static_assert(
    std::is_same_v<decltype(&IncidentStore::write), Result<WrittenIncident> (IncidentStore::*)(const Incident&)>);

class RevisionsTest : public ::testing::Test {
 protected:
  RevisionsTest() {
    pipeline_.apply(CgroupCreated{{1}, kShop, CgroupId{1}, "/system.slice/shop.service", true});
    ProcessSeen seen;
    seen.time = {1};
    seen.process = kVictim;
    seen.cgroup = kShop;
    pipeline_.apply(seen);
    MemorySampled sample;
    sample.time = kKill - seconds(1);
    sample.cgroup = kShop;
    sample.detailed = true;
    sample.memory_stat = {{"anon", 1}};
    pipeline_.apply(sample);
    pipeline_.apply(ReclaimSampled{kKill - seconds(1), kShop, 1, 1, 1, 1});
    OomKill kill;
    kill.time = kKill;
    kill.victim = kVictim;
    kill.victim_cgroup = kill.owner_cgroup = kShop;
    kill.owner_known = true;
    pipeline_.apply(kill);
  }
  // All that is written from one millisecond after the kill to another, each as soon as it is due.
  std::vector<Incident> written(std::int64_t from_ms, std::int64_t to_ms) {
    std::vector<Incident> all;
    for (std::int64_t ms = from_ms; ms <= to_ms; ms += 5) {
      const MonotonicTime now = kKill + milliseconds(ms);
      pipeline_.tick(now);
      for (Incident& incident : pipeline_.take_incidents(now, 0)) {
        pipeline_.on_written(incident, 0);
        all.push_back(std::move(incident));
      }
    }
    return all;
  }
  static CaptureFinished walk(std::int64_t ms) {
    CaptureFinished capture;
    capture.time = capture.started = kKill + milliseconds(ms);
    capture.cgroup = kShop;
    capture.process = kVictim;
    capture.method = CaptureMethod::kAtKill;
    capture.of = RuntimeKind::kGo;
    capture.result = CaptureResult::kOk;
    capture.complete = true;
    capture.inuse_bytes = 1;
    capture.spool_file = "0-at_kill.pb.gz";
    return capture;
  }
  // As judged at once; is_kept: with its files, which takes longer.
  static TrendJudged trend(std::int64_t ms, bool is_kept) {
    TrendJudged judged;
    judged.time = kKill + milliseconds(ms);
    judged.process = kVictim;
    judged.points.resize(1);
    judged.points[0].time = kKill - seconds(10);
    judged.points[0].is_baseline = true;
    if (is_kept) {
      judged.points[0].file = "trend-01.pb.gz";
      judged.points[0].spool_file = "4242-trend.pb.gz";
      judged.spool_file = "4242-trend-json.pb.gz";
    }
    return judged;
  }

  Pipeline pipeline_{TriggerConfig{}, {}, std::nullopt};
};

TEST_F(RevisionsTest, a_late_walk_and_trend_make_one_revision_and_no_write_makes_another) {
  pipeline_.apply(trend(2, false));
  const std::vector<Incident> first = written(0, 100);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(first[0].trend.has_value());
  EXPECT_TRUE(evidence_files_of(first[0]).empty()) << "the first write waits for no file";
  pipeline_.apply(walk(110));
  pipeline_.apply(trend(115, true));
  pipeline_.apply(trend(116, false));  // judged before, handed over late
  const std::vector<Incident> revisions = written(120, 70'000);
  ASSERT_EQ(revisions.size(), 1u);
  EXPECT_EQ(revisions[0].id, first[0].id);
  std::vector<std::string> names;
  for (const EvidenceFile& file : evidence_files_of(revisions[0])) names.push_back(file.name + "=" + file.spool_file);
  EXPECT_EQ(names, (std::vector<std::string>{"capture-01-at_kill.pb.gz=0-at_kill.pb.gz",
                                             "trend-01.pb.gz=4242-trend.pb.gz", "trend.json=4242-trend-json.pb.gz"}));
}

TEST_F(RevisionsTest, a_file_that_could_not_be_placed_makes_one_revision_without_it) {
  pipeline_.apply(walk(1));
  const std::vector<Incident> first = written(0, 100);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(first[0].captures.at(0).file, "capture-01-at_kill.pb.gz");
  pipeline_.apply(FilesUnplaced{kKill + milliseconds(110), first[0].id, {{"capture-01-at_kill.pb.gz", "gone"}}});
  const std::vector<Incident> revisions = written(120, 70'000);
  ASSERT_EQ(revisions.size(), 1u);
  EXPECT_EQ(revisions[0].captures.at(0).file, "");
  EXPECT_TRUE(evidence_files_of(revisions[0]).empty());
}

}  // namespace
}  // namespace oomw
