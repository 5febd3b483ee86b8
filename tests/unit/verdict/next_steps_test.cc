// SPDX-License-Identifier: Apache-2.0
#include "verdict/next_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"

namespace oomw {
namespace {

using test::sample_incident;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const Incident& incident) {
  std::string text;
  for (const NextStep& step : next_steps(incident)) {
    text += step.what + "\n";
    for (const std::string& command : step.commands) text += "  " + command + "\n";
  }
  return text;
}

Incident with_cause(const std::string& cause) {
  Incident incident = sample_incident();
  incident.verdict = IncidentVerdict{cause, 0.8, {"a reason"}};
  incident.pod.emplace();
  incident.pod->owner_kind = "ReplicaSet";
  incident.pod->owner_name = "cart-7d9f";
  incident.pod->workload = {"Deployment", "cart", "pod_template_hash"};
  return incident;
}

TEST(NextSteps, every_cause_has_some) {
  for (const char* cause : {"leak", "spike", "undersized", "off_heap", "page_cache_or_tmpfs", "sibling", "pod_limit",
                            "ancestor_limit", "node", "unheard of"}) {
    EXPECT_FALSE(next_steps(with_cause(cause)).empty()) << cause;
  }
}

TEST(NextSteps, a_leak_is_compared_from_the_first_reading_to_the_last) {
  const std::string text = text_of(with_cause("leak"));
  EXPECT_THAT(text, HasSubstr("go tool pprof -top -diff_base=trend-01.pb.gz trend-02.pb.gz"));
  EXPECT_THAT(text, HasSubstr("A larger limit does not mend a leak"));
  EXPECT_THAT(text, Not(HasSubstr("set resources")));
}

TEST(NextSteps, without_a_trend_the_captures_are_compared) {
  Incident incident = with_cause("leak");
  incident.trend.reset();
  EXPECT_THAT(text_of(incident), HasSubstr("-diff_base=capture-01-http.pb.gz capture-02-http.pb.gz"));
}

// v1 refuses a limit of memory above that of memory and swap together.
TEST(NextSteps, the_limit_of_a_cgroup_is_raised_in_the_order_that_its_kernel_takes) {
  Incident incident = with_cause("undersized");
  incident.verdict->suggested_limit = SuggestedLimit{48u << 20, true, ""};
  incident.container = ContainerIdentity{};
  incident.cgroup_path = "/a b";
  incident.memory_stat = {};
  EXPECT_THAT(text_of(incident), HasSubstr("  echo 50331648 > /sys/fs/cgroup'/a b/memory.max'\n"));
  incident.memory_stat = {{"pgpgin", 1}, {"hierarchical_memsw_limit", UINT64_MAX}};
  EXPECT_THAT(text_of(incident), HasSubstr("  echo 50331648 > /sys/fs/cgroup/memory'/a b/memory.limit_in_bytes'\n"));
  incident.memory_stat["hierarchical_memsw_limit"] = 32u << 20;
  EXPECT_THAT(text_of(incident),
              HasSubstr("  echo 50331648 | tee /sys/fs/cgroup/memory'/a b/memory.memsw.limit_in_bytes' "
                        "/sys/fs/cgroup/memory'/a b/memory.limit_in_bytes'\n"));
}

TEST(NextSteps, the_limit_of_a_unit_is_raised_by_the_manager_that_knows_it) {
  Incident incident = with_cause("undersized");
  incident.verdict->suggested_limit = SuggestedLimit{48u << 20, true, ""};
  incident.container = ContainerIdentity{};
  incident.container.runtime = "systemd";
  incident.container.unit = R"(app@a\x2db.service)";
  incident.cgroup_path = R"(/system.slice/app@a\x2db.service)";
  EXPECT_THAT(text_of(incident), HasSubstr(R"(  systemctl set-property 'app@a\x2db.service' MemoryMax=48M)"));
  incident.cgroup_path = R"(/user.slice/user-1000.slice/user@1000.service/app.slice/app@a\x2db.service)";
  EXPECT_THAT(text_of(incident), HasSubstr("  systemctl --user -M 1000@ set-property "));
  incident.cgroup_path = "/user.slice/user@$(reboot).service/app.service";
  EXPECT_THAT(text_of(incident), HasSubstr("  systemctl set-property "));
}

TEST(NextSteps, a_larger_limit_is_set_at_what_owns_the_pod) {
  Incident incident = with_cause("undersized");
  incident.verdict->suggested_limit = SuggestedLimit{320u << 20, true, ""};
  const std::string text = text_of(incident);
  EXPECT_THAT(text, HasSubstr("kubectl -n shop set resources deployment/cart -c cart --limits=memory=320Mi"));
  EXPECT_THAT(text, HasSubstr("kubectl -n shop set env deployment/cart -c cart GOMEMLIMIT=256MiB"));
}

TEST(NextSteps, a_program_whose_heap_profile_is_not_gos_gets_no_advice_about_go) {
  Incident incident = with_cause("undersized");
  incident.verdict->suggested_limit = SuggestedLimit{320u << 20, true, ""};
  incident.trend.reset();
  for (IncidentCapture& capture : incident.captures) capture.of.clear();
  EXPECT_THAT(text_of(incident), HasSubstr("set resources deployment/cart"));
  EXPECT_THAT(text_of(incident), Not(HasSubstr("GOMEMLIMIT")));
}

TEST(NextSteps, a_function_without_a_name_is_looked_up_by_its_address) {
  Incident incident = with_cause("leak");
  IncidentGrowth& growth = incident.growth.emplace();
  growth.grown_bytes = 80u << 20;
  growth.samples = 320;
  incident.growth->places = {{R"(shop!fn_1ab0, which refers to "invoice %ld")", "", "", 60u << 20, 0.75}};
  EXPECT_THAT(text_of(incident), HasSubstr("What shop!fn_1ab0 is, by"));
  EXPECT_THAT(text_of(incident), HasSubstr("  addr2line -Cfe FILE 0x1ab0\n"));
  incident.growth->places.front().build_id = "c0de";
  EXPECT_THAT(text_of(incident), HasSubstr("addr2line -Cfe \"$(debuginfod-find debuginfo c0de)\" 0x1ab0"));
  incident.growth->places.front().code = "Ledger::book (shop)";
  EXPECT_THAT(text_of(incident), Not(HasSubstr("addr2line")));
  incident.growth->places.front().code = "shop!fn_x; reboot";
  EXPECT_THAT(text_of(incident), Not(HasSubstr("addr2line")));
}

TEST(NextSteps, a_memory_limit_of_go_that_is_set_is_named) {
  Incident incident = with_cause("undersized");
  incident.victims[0].go.memory_limit_bytes = 300u << 20;
  EXPECT_THAT(text_of(incident), HasSubstr("Its GOMEMLIMIT is 300 MiB, of a limit of 256 MiB"));
}

TEST(NextSteps, where_no_limit_is_large_enough_none_is_set) {
  const std::string text = text_of(with_cause("undersized"));
  EXPECT_THAT(text, Not(HasSubstr("set resources")));
  EXPECT_THAT(text, HasSubstr("GOMEMLIMIT="));
}

TEST(NextSteps, hostile_names_stay_one_word_of_one_line) {
  Incident incident = with_cause("undersized");
  incident.verdict->suggested_limit = SuggestedLimit{320u << 20, true, ""};
  incident.container.pod_namespace = "a; reboot";
  incident.container.name = "$(reboot)\nreboot";
  incident.pod->workload.name = "x'`reboot`";
  std::size_t kubectl_lines = 0;
  for (const NextStep& step : next_steps(incident)) {
    for (const std::string& command : step.commands) {
      EXPECT_THAT(command, Not(HasSubstr("\n")));
      if (!command.starts_with("kubectl")) continue;
      ++kubectl_lines;
      EXPECT_THAT(command, HasSubstr("-n 'a; reboot' "));
      EXPECT_THAT(command, HasSubstr("-c '$(reboot)?reboot'"));
      EXPECT_THAT(command, HasSubstr(R"('deployment/x'\''`reboot`')"));
    }
  }
  EXPECT_EQ(kubectl_lines, 2u);
}

TEST(NextSteps, a_collector_without_a_limiter_is_told_how) {
  Incident incident = with_cause("leak");
  incident.collector.emplace();
  incident.collector->read_at = test::before_kill(100);
  incident.collector->exporters = {{{"otlp/backend", 900, 1000, 800}}};
  const std::string text = text_of(incident);
  EXPECT_THAT(text, HasSubstr("memory_limiter:"));
  EXPECT_THAT(text, HasSubstr("exporter otlp/backend"));
  incident.collector->limiter_refused = 7;
  EXPECT_THAT(text_of(incident), Not(HasSubstr("limit_percentage")));
}

TEST(NextSteps, without_a_profile_the_way_to_one_is_told) {
  Incident incident = with_cause("spike");
  incident.captures.clear();
  incident.trend.reset();
  EXPECT_THAT(text_of(incident), HasSubstr("oomwitness doctor"));
}

}  // namespace
}  // namespace oomw
