// SPDX-License-Identifier: Apache-2.0
#include "report/capture_top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "pprof/codec.h"
#include "support/builders.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

const std::string kReceiver = "go.opentelemetry.io/collector/receiver/otlpreceiver.handleTraces";

std::string profile_of(const std::string& function) {
  pprof::Profile profile;
  profile.sample_types = {{"inuse_space", "bytes"}};
  profile.functions = {{1, function, function, "", 0}};
  profile.locations = {{1, 0, 1, {{1, 1}}}};
  profile.samples = {{{1}, {100}, {}}};
  return pprof::write(profile);
}

// Two of http and one of live, all of the victim; the newest of http is the best.
class ReadProfilesTest : public ::testing::Test {
 protected:
  ReadProfilesTest() {
    incident_.captures.push_back(incident_.captures[0]);
    incident_.captures.back().method = "live";
    incident_.captures.back().result = "failed";
    incident_.captures.back().file = "capture-03-live.pb.gz";
    store("capture-01-http.pb.gz", "main.early");
    store("capture-02-http.pb.gz", kReceiver);
    store("capture-03-live.pb.gz", "main.live");
  }
  void store(const std::string& file, const std::string& function) {
    OOMW_CHECK(write_file_atomic(directory_ / file, profile_of(function)).has_value());
  }

  test::TemporaryDirectory directory_;
  Incident incident_ = test::sample_incident();
};

TEST_F(ReadProfilesTest, tops_are_of_the_best_and_of_each_other_method) {
  const auto tops = read_profiles(incident_, directory_.path()).tops;
  ASSERT_THAT(tops, UnorderedElementsAre(Key("capture-02-http.pb.gz"), Key("capture-03-live.pb.gz")));
  EXPECT_THAT(tops.at("capture-02-http.pb.gz"), HasSubstr("otlpreceiver"));
  EXPECT_THAT(tops.at("capture-03-live.pb.gz"), HasSubstr("main.live"));
}

TEST_F(ReadProfilesTest, a_file_that_is_no_profile_has_no_top) {
  OOMW_CHECK(write_file_atomic(directory_ / "capture-02-http.pb.gz", "no profile").has_value());
  EXPECT_THAT(read_profiles(incident_, directory_.path()).tops, UnorderedElementsAre(Key("capture-03-live.pb.gz")));
}

// Of 100 bytes of the program's own and 50 that its HTTP handler for profiles allocated.
std::string profile_with_handler() {
  pprof::Profile profile;
  profile.sample_types = {{"inuse_space", "bytes"}};
  profile.functions = {{1, "main.put", "main.put", "", 0},
                       {2, "compress/flate.NewWriter", "compress/flate.NewWriter", "", 0},
                       {3, "net/http/pprof.handler.ServeHTTP", "net/http/pprof.handler.ServeHTTP", "", 0}};
  profile.locations = {{1, 0, 1, {{1, 1}}}, {2, 0, 2, {{2, 1}}}, {3, 0, 3, {{3, 1}}}};
  profile.samples = {{{1}, {100}, {}}, {{2, 3}, {50}, {}}};
  return pprof::write(profile);
}

TEST_F(ReadProfilesTest, what_a_capture_by_http_allocates_is_no_growth_and_is_named) {
  OOMW_CHECK(write_file_atomic(directory_ / "capture-02-http.pb.gz", profile_with_handler()).has_value());
  const auto texts = read_profiles(incident_, directory_.path());
  EXPECT_THAT(texts.growth, ::testing::StartsWith("left out: 50 B that net/http/pprof allocated in the program"));
  EXPECT_THAT(texts.growth, HasSubstr("main.put"));
  EXPECT_THAT(texts.growth, ::testing::Not(HasSubstr("flate")));
  EXPECT_THAT(texts.tops.at("capture-02-http.pb.gz"), HasSubstr("flate")) << "what was held is shown as it was";
}

TEST_F(ReadProfilesTest, growth_is_told_from_the_first_profile_of_the_process_to_the_best) {
  const std::string growth = read_profiles(incident_, directory_.path()).growth;
  EXPECT_THAT(growth, HasSubstr("from capture-01-http.pb.gz"));
  EXPECT_THAT(growth, HasSubstr("to capture-02-http.pb.gz"));
  EXPECT_THAT(growth, HasSubstr("main.early"));
  EXPECT_THAT(growth, HasSubstr("By Collector component"));
}

// What the trend of a process left beside the incident.
class TrendProfilesTest : public ReadProfilesTest {
 protected:
  TrendProfilesTest() {
    incident_.captures[1].method = "live";
    incident_.trend.emplace().pid = incident_.captures[1].pid;
  }
  void store_trend(int number, std::int64_t held) {
    pprof::Profile profile = pprof::read(profile_of(kReceiver)).value();
    profile.samples[0].values[0] = held;
    const std::string name = "trend-0" + std::to_string(number) + ".pb.gz";
    IncidentTrend::Point& point = incident_.trend->points.emplace_back();
    point.time = test::before_kill(60'000 - number);
    point.file = name;
    OOMW_CHECK(write_file_atomic(directory_ / name, pprof::write(profile)).has_value());
  }
};

TEST_F(TrendProfilesTest, growth_goes_back_to_the_baseline_and_is_shown_over_time) {
  store_trend(1, 20);
  store_trend(2, 50);
  const std::string growth = read_profiles(incident_, directory_.path()).growth;
  EXPECT_THAT(growth, HasSubstr("from trend-01.pb.gz"));
  EXPECT_THAT(growth, HasSubstr("to capture-02-http.pb.gz"));
  EXPECT_THAT(growth, HasSubstr("20 B        50 B       100 B        +80 B  " + kReceiver));
}

TEST_F(TrendProfilesTest, a_trend_of_another_process_is_not_compared_with) {
  store_trend(1, 20);
  incident_.trend->pid = 7;
  EXPECT_THAT(read_profiles(incident_, directory_.path()).growth, HasSubstr("from capture-01-http.pb.gz"));
}

TEST_F(ReadProfilesTest, one_profile_has_no_growth) {
  incident_.captures.erase(incident_.captures.begin());
  EXPECT_EQ(read_profiles(incident_, directory_.path()).growth, "");
}

IncidentCapture capture_at(std::int64_t time_ns, const std::string& method, const std::string& result = "ok") {
  IncidentCapture capture;
  capture.time = {time_ns};
  capture.method = method;
  capture.result = result;
  capture.pid = 7;
  capture.file = method + std::to_string(time_ns);
  return capture;
}

TEST(FirstBefore, prefers_the_same_series_to_the_earlier_time) {
  Incident incident;
  incident.captures = {capture_at(1, "live", "failed"), capture_at(2, "http"), capture_at(3, "live"),
                       capture_at(4, "live"), capture_at(5, "at_kill")};
  EXPECT_EQ(first_before(incident, incident.captures[4]), &incident.captures[2]);
  EXPECT_EQ(first_before(incident, incident.captures[2]), &incident.captures[1]);
  EXPECT_EQ(first_before(incident, incident.captures[1]), nullptr);
}

TEST(FirstBefore, another_process_says_nothing) {
  Incident incident;
  incident.captures = {capture_at(1, "live"), capture_at(2, "live")};
  incident.captures[0].pid = 8;
  EXPECT_EQ(first_before(incident, incident.captures[1]), nullptr);
}

}  // namespace
}  // namespace oomw
