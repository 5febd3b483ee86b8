// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_evidence.h"

#include <sys/stat.h>

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "runtimes/go/go_registry.h"
#include "unit/base/set_clock.h"
#include "unit/captures/go_fixture.h"
#include "unit/trends/trend_fixture.h"

namespace oomw {
namespace {

using nlohmann::json;
using test::kBlock;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class TrendEvidenceTest : public testing::Test {
 protected:
  TrendEvidenceTest() {
    test::set_process(process_);
    names_ = process_.names(clock_, {});
  }
  // Keeps files in the directory, under their names.
  [[nodiscard]] KeepTrendFile keep_in(const std::string& directory) {
    return [directory](ProcessKey, const std::string& name, std::string bytes) -> Result<std::string> {
      RETURN_IF_ERROR(write_file_atomic(directory + "/" + name, bytes));
      return "kept-" + name;
    };
  }
  Result<TrendFiles> write(const HeapTrend& trend) {
    ASSIGN_OR_RETURN(evidence_, keep_trend_evidence(trend, find_leaks(trend, std::nullopt), process_.key, *names_,
                                                    clock_, keep_in(directory_.path())));
    return evidence_.files;
  }
  std::vector<std::string> written() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  json trend_json() const { return json::parse(test::read_bytes(directory_ / "trend.json")); }
  pprof::Profile profile(const std::string& name) const {
    auto read = pprof::read(test::read_bytes(directory_ / name));
    EXPECT_TRUE(read.has_value()) << name;
    return read.value_or(pprof::Profile{});
  }

  test::TemporaryDirectory directory_;
  test::SetClock clock_;
  TrendEvidence evidence_;
  GoProcess process_;
  std::unique_ptr<ProgramNames> names_;  // has none: addresses
};

TEST_F(TrendEvidenceTest, without_a_reading_nothing_is_written) {
  const auto files = write({});
  ASSERT_TRUE(files.has_value());
  EXPECT_TRUE(files->empty());
  EXPECT_TRUE(written().empty());
}

TEST_F(TrendEvidenceTest, baseline_middle_and_last_become_profiles_beside_trend_json) {
  const auto files = write(test::leaking_story({2}, 9).trend);
  ASSERT_TRUE(files.has_value());
  EXPECT_THAT(*files, ElementsAre(Pair(0, "trend-01.pb.gz"), Pair(4, "trend-02.pb.gz"), Pair(8, "trend-03.pb.gz")));
  EXPECT_THAT(written(), UnorderedElementsAre("trend-01.pb.gz", "trend-02.pb.gz", "trend-03.pb.gz", "trend.json"));
  EXPECT_THAT(
      evidence_.kept,
      UnorderedElementsAre(Pair("trend-01.pb.gz", "kept-trend-01.pb.gz"), Pair("trend-02.pb.gz", "kept-trend-02.pb.gz"),
                           Pair("trend-03.pb.gz", "kept-trend-03.pb.gz"), Pair("trend.json", "kept-trend.json")));
}

TEST_F(TrendEvidenceTest, one_reading_is_written_once_and_of_two_there_is_no_middle) {
  EXPECT_THAT(*write(test::leaking_story({2}, 1).trend), ElementsAre(Pair(0, "trend-01.pb.gz")));
  EXPECT_THAT(*write(test::leaking_story({2}, 2).trend),
              ElementsAre(Pair(0, "trend-01.pb.gz"), Pair(1, "trend-02.pb.gz")));
}

TEST_F(TrendEvidenceTest, written_again_it_is_replaced) {
  ASSERT_TRUE(write(test::leaking_story({2}, 3).trend).has_value());
  ASSERT_TRUE(write(test::leaking_story({2}, 5).trend).has_value());
  EXPECT_EQ(written().size(), 4u);
  EXPECT_EQ(trend_json()["readings"].size(), 5u);
  EXPECT_EQ(profile("trend-03.pb.gz").total(1), static_cast<std::int64_t>(14 * kBlock));
}

TEST_F(TrendEvidenceTest, where_nothing_can_be_kept_that_is_an_error) {
  const auto trend = test::leaking_story({2}).trend;
  const auto none = keep_in(directory_ / "none");
  EXPECT_FALSE(keep_trend_evidence(trend, {}, process_.key, *names_, clock_, none).has_value());
}

TEST_F(TrendEvidenceTest, trend_json_has_each_reading_in_wall_time_and_says_which_file_it_is_in) {
  ASSERT_TRUE(write(test::leaking_story({2}, 4).trend).has_value());
  const json readings = trend_json()["readings"];
  ASSERT_EQ(readings.size(), 4u);
  const WallTime first = clock_.wall_of(test::at_second(60));
  EXPECT_EQ(readings[0], (json{{"time", to_rfc3339(first)},
                               {"origin", "scheduled"},
                               {"is_baseline", true},
                               {"gc_cycle", 2},
                               {"live_bytes", 6 * kBlock},
                               {"held_bytes", 6 * kBlock},
                               {"buckets", 2},
                               {"complete", true},
                               {"file", "trend-01.pb.gz"}}));
  EXPECT_EQ(readings[2]["file"], nullptr);
  EXPECT_EQ(trend_json()["process"], (json{{"pid", 4711}, {"start_ticks", 90}}));
  EXPECT_EQ(trend_json()["schema_version"], 1);
}

TEST_F(TrendEvidenceTest, trend_json_names_a_leak_with_its_figures) {
  ASSERT_TRUE(write(test::leaking_story({2}).trend).has_value());
  const json judged = trend_json()["judged"];
  EXPECT_EQ(judged["readings_that_count"], 10);
  EXPECT_EQ(judged["span_seconds"], 540);
  EXPECT_EQ(judged["suspects"], 1);
  EXPECT_EQ(judged["likely"], 0);
  EXPECT_EQ(judged["is_undecided"], false);
  ASSERT_EQ(judged["sites"].size(), 1u);
  const json& site = judged["sites"][0];
  EXPECT_EQ(site["judgement"], "leak");
  EXPECT_EQ(site["growth_share"], 1);
  EXPECT_EQ(site["pair_share"], 1);
  EXPECT_LT(site["chance"].get<double>(), 1e-5);
  EXPECT_NEAR(site["slope_bytes_per_second"].get<double>(), 2.0 * kBlock / 60, 1);
  EXPECT_EQ(site["frames"], (json{"0x401020", "0x402000", "0x403000"}));
}

TEST_F(TrendEvidenceTest, of_too_few_readings_trend_json_lists_what_is_likely_and_how_much_chance_would_explain) {
  ASSERT_TRUE(write(test::leaking_story({2, 3}, 4).trend).has_value());
  const json judged = trend_json()["judged"];
  EXPECT_EQ(judged["suspects"], 0);
  EXPECT_EQ(judged["likely"], 2);
  ASSERT_EQ(judged["sites"].size(), 2u);
  EXPECT_EQ(judged["sites"][0]["judgement"], "likely_leak");
  EXPECT_EQ(judged["sites"][0]["frames"][0], "0x401030") << "what gained most";
  EXPECT_NEAR(judged["sites"][0]["chance"].get<double>(), 1.0 / 24, 1e-9);
}

TEST_F(TrendEvidenceTest, a_share_of_pairs_is_told_beside_that_of_intervals) {
  auto story = test::leaking_story({2}, 8);
  story.heap.hold(2, 15.5 * kBlock, kBlock);  // one look back, below the one before
  story.read();
  ASSERT_TRUE(write(story.trend).has_value());
  const json whole = trend_json()["judged"]["whole"];
  EXPECT_DOUBLE_EQ(whole["growth_share"], 7.0 / 8);
  EXPECT_DOUBLE_EQ(whole["pair_share"], 35.0 / 36);
}

TEST_F(TrendEvidenceTest, more_suspects_than_are_listed_are_counted) {
  std::vector<std::uint32_t> sites;
  for (std::uint32_t site = 2; site < 32; ++site) sites.push_back(site);
  ASSERT_TRUE(write(test::leaking_story(sites).trend).has_value());
  EXPECT_EQ(trend_json()["judged"]["suspects"], 30);
  EXPECT_EQ(trend_json()["judged"]["sites"].size(), 20u);
}

TEST_F(TrendEvidenceTest, slopes_that_nothing_is_known_of_are_null) {
  ASSERT_TRUE(write(test::leaking_story({2}, 2).trend).has_value());
  const json whole = trend_json()["judged"]["whole"];
  EXPECT_EQ(whole["judgement"], "too_few_readings");
  EXPECT_EQ(whole["slope_low_bytes_per_second"], nullptr);
  EXPECT_EQ(whole["slope_high_bytes_per_second"], nullptr);
}

TEST_F(TrendEvidenceTest, a_profile_holds_what_was_held_then_and_nothing_of_what_was_freed) {
  auto story = test::leaking_story({2}, 3);
  story.heap.garbage(1, 3.0 * kBlock);
  story.read();
  ASSERT_TRUE(write(story.trend).has_value());
  const pprof::Profile last = profile("trend-03.pb.gz");
  ASSERT_EQ(last.sample_types.size(), 2u);
  EXPECT_EQ(last.sample_types[0].type, "inuse_objects");
  EXPECT_EQ(last.sample_types[1].type, "inuse_space");
  EXPECT_EQ(last.total(0), 13);
  EXPECT_EQ(last.total(1), static_cast<std::int64_t>(13 * kBlock)) << "dead and not collected is held";
  EXPECT_EQ(last.time_nanos, clock_.wall_of(test::at_second(240)).ns);
  EXPECT_EQ(last.comments.at(0), "oomwitness: method=trend origin=scheduled pid=4711 types=inuse only");
}

TEST_F(TrendEvidenceTest, counts_that_no_memory_holds_make_no_profile_of_less) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  for (const std::uint64_t block : {kHalf, kHalf / 2, std::numeric_limits<std::uint64_t>::max()}) {
    HeapTrend trend;
    trend.add(test::one_holding({0x401000}, block, 5, 1), {test::at_second(60), ReadingOrigin::kScheduled, false});
    ASSERT_TRUE(write(trend).has_value());
    EXPECT_GE(profile("trend-01.pb.gz").total(1), std::int64_t{1} << 62) << block;
  }
}

TEST_F(TrendEvidenceTest, of_more_frames_than_a_profile_is_made_of_the_smallest_buckets_are_left_out_in_each_file) {
  HeapTrend trend;
  for (std::uint32_t number = 0; number < 2; ++number) {
    HeapReading heap;
    heap.rate = test::kRate;
    heap.is_complete = true;
    heap.collection = number;
    for (std::uint64_t bucket = 0; bucket < 4'000; ++bucket) {
      std::vector<std::uint64_t> pcs(100, 0x402000);
      pcs[0] = 0x500000 + bucket * 16;
      const bool has_grown = bucket >= 3'000 && number == 1;  // not among the largest at first
      const std::int64_t objects = (bucket < 1'000 ? 9 : 1) + (has_grown ? 5 : 0);
      const HeapAmount amount{objects, objects * static_cast<std::int64_t>(kBlock)};
      heap.holdings.push_back({heap.pcs.append(pcs), 100, kBlock, amount, amount, amount});
    }
    trend.add(heap, {test::at_second(60.0 * (number + 1)), ReadingOrigin::kScheduled, false});
  }
  ASSERT_TRUE(write(trend).has_value());
  const pprof::Profile first = profile("trend-01.pb.gz"), last = profile("trend-02.pb.gz");
  constexpr std::int64_t kWritten = (256 << 10) / 100;
  EXPECT_EQ(std::ssize(first.samples), kWritten);
  EXPECT_EQ(std::ssize(last.samples), kWritten);
  EXPECT_EQ(first.total(0), 9 * 1'000 + (kWritten - 1'000));
  EXPECT_EQ(last.total(0), 9 * 1'000 + 6 * 1'000 + (kWritten - 2'000));
  EXPECT_THAT(last.comments, Contains(HasSubstr("the 1379 smallest buckets are left out")));
}

TEST_F(TrendEvidenceTest, without_names_frames_are_addresses_at_most_as_many_as_wanted) {
  const auto trend = test::leaking_story({2}, 1).trend;
  const std::uint32_t site = trend.sites().site_of(trend.readings()[0].buckets.back().number);
  EXPECT_THAT(frames_of_site(trend, site, *names_, 9), ElementsAre("0x401020", "0x402000", "0x403000"));
  EXPECT_THAT(frames_of_site(trend, site, *names_, 2), ElementsAre("0x401020", "0x402000"));
  EXPECT_TRUE(frames_of_site(trend, site, *names_, 0).empty());
}

TEST_F(TrendEvidenceTest, without_an_executable_or_with_one_that_is_not_go_there_are_no_names) {
  for (const std::string& exe : {std::string("/proc/self/exe"), directory_ / "none"}) {
    GoProcess process;
    test::set_process(process, exe);
    EXPECT_THAT(process.names(clock_, {})->lines_of(std::array<std::uint64_t, 1>{0x401000}), ElementsAre("0x401000"));
  }
}

// The name of a function is the program's choice.
TEST_F(TrendEvidenceTest, a_program_s_names_are_printable_whatever_it_calls_itself) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  std::string bytes = test::read_bytes(program.path);
  const std::string name("main.leak\0", 10), hostile("main.l\x1b[K\0", 10);
  const std::size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, name.size(), hostile);
  ASSERT_TRUE(write_file_atomic(directory_ / "hostile", bytes).has_value());
  ASSERT_EQ(::chmod((directory_ / "hostile").c_str(), 0700), 0);
  test::GoHeap process(directory_ / "hostile", "1");
  for (const char* command : {"leak 20", "gc"}) process.ask(command);

  const SystemClock clock;
  GoRegistry registry(clock, {}, {});
  const HeapRead read = registry.read({process.pid(), 0}, clock.now() + std::chrono::seconds(60));
  ASSERT_TRUE(read.reading.has_value()) << to_string(read.failure.reason);
  HeapTrend trend;
  trend.add(*read.reading, {read.reading->as_of, ReadingOrigin::kRequest, false});
  const auto names = read.process->names(clock, clock.now() + std::chrono::seconds(60));
  std::string all;
  for (std::uint32_t site = 0; site < trend.sites().sites(); ++site) {
    for (const std::string& frame : frames_of_site(trend, site, *names, 32)) all += frame + "|";
  }
  EXPECT_THAT(all, HasSubstr("main.l\\x1b[K "));
  EXPECT_THAT(all, HasSubstr("main.go:"));
  EXPECT_EQ(all.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace oomw
