// SPDX-License-Identifier: Apache-2.0
#include "daemon/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "support/source_tree.h"

namespace oomw {
namespace {

std::string error_of(std::string_view toml) {
  const Result<Config> config = parse_config(toml, "o.toml");
  return config.has_value() ? "" : config.error().message;
}

TEST(ConfigTest, empty_file_gives_defaults) {
  const Result<Config> config = parse_config("", "o.toml");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->data_dir, "/var/lib/oomwitness");
  EXPECT_EQ(config->http.ports, (std::vector<std::uint16_t>{1777, 6060}));
}

TEST(ConfigTest, every_table_is_read) {
  const Result<Config> config = parse_config(R"(
data_dir = "/d"
[kernel]
ring_bytes = 65536
levels_percent = [50, 90]
[kernel.best_rung]
oom_kill = "files"
[sampler]
slow_seconds = 2.5
[triggers]
capture_percents = [70]
[capture]
workers = 3
[capture.live]
timeout_seconds = 0.5
[capture.at_kill]
pool_bytes = 1048576
max_buckets = 1000
max_seconds = 0.05
container_seconds = 0.2
[capture.http]
ports = [9000]
[capture.spool]
files = 7
[trend]
enabled = false
max_memory_bytes = 1048576
max_interval_seconds = 60
core_share = 0.002
contents_core_share = 0.001
[incidents]
keep_count = 5
)",
                                             "o.toml");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->kernel.ring_bytes, 65536u);
  EXPECT_EQ(config->kernel.forced.at("oom_kill"), Rung::kFiles);
  EXPECT_EQ(config->sampler.slow, std::chrono::milliseconds(2500));
  EXPECT_EQ(config->triggers.capture_percents, std::vector<std::uint32_t>{70});
  EXPECT_EQ(config->capture_workers, 3u);
  EXPECT_EQ(config->live_timeout, std::chrono::milliseconds(500));
  EXPECT_EQ(config->kernel.walk_pool_bytes, 1u << 20);
  EXPECT_EQ(config->kernel.walk_max_buckets, 1000u);
  EXPECT_EQ(config->kernel.walk_max_time, std::chrono::milliseconds(50));
  EXPECT_EQ(config->kernel.walk_cgroup_time, std::chrono::milliseconds(200));
  EXPECT_EQ(config->http.ports, std::vector<std::uint16_t>{9000});
  EXPECT_EQ(config->spool.files, 7u);
  EXPECT_FALSE(config->trend.enabled);
  EXPECT_EQ(config->trend.store.max_bytes, 1u << 20);
  EXPECT_EQ(config->trend.schedule.max_interval, std::chrono::minutes(1));
  EXPECT_EQ(config->trend.core_share, 0.002);
  EXPECT_EQ(config->trend.contents_core_share, 0.001);
  EXPECT_EQ(config->retention.count, 5u);
}

TEST(ConfigTest, trend_intervals_that_contradict_each_other_are_an_error) {
  EXPECT_NE(error_of("[trend]\nmin_interval_seconds = 700\n").find("must not exceed"), std::string::npos);
}

TEST(ConfigTest, a_key_that_was_removed_is_an_error_that_says_so) {
  EXPECT_EQ(error_of("[trend]\nhttp = true\n"),
            "o.toml:2:8: 'trend.http' was removed: trends are read from memory only; delete this line");
  EXPECT_NE(error_of("[trend]\nhttp_interval_seconds = 60\n").find("was removed"), std::string::npos);
}

TEST(ConfigTest, unknown_key_names_file_line_and_column) {
  EXPECT_EQ(error_of("data_dir = \"/d\"\n[kernel]\n  rings = 1\n"), "o.toml:3:3: unknown key 'kernel.rings'");
}

TEST(ConfigTest, unknown_table_is_an_error) {
  EXPECT_NE(error_of("[web]\nx = 1\n").find("unknown key 'web'"), std::string::npos);
}

TEST(ConfigTest, wrong_type_and_range_name_the_position) {
  EXPECT_NE(error_of("[capture]\nworkers = \"two\"\n").find("o.toml:2:11: 'capture.workers' must be an integer from 1"),
            std::string::npos)
      << error_of("[capture]\nworkers = \"two\"\n");
  EXPECT_NE(error_of("[capture]\nworkers = 0\n").find("must be an integer from 1 to 16"), std::string::npos);
  EXPECT_NE(error_of("[triggers]\ncapture_percents = [90, 80]\n").find("ascending"), std::string::npos);
}

TEST(ConfigTest, malformed_toml_names_the_position) { EXPECT_EQ(error_of("a = \n").substr(0, 7), "o.toml:"); }

TEST(ConfigTest, values_that_no_part_could_use_are_refused) {
  EXPECT_NE(error_of("data_dir = \"relative\"").find("absolute"), std::string::npos);
  EXPECT_NE(error_of("[kernel]\nring_bytes = 5000").find("power of two"), std::string::npos);
  EXPECT_NE(error_of("[capture.http]\npath = \"/x HTTP/1.1\\r\\nA: b\"").find("white space"), std::string::npos);
  EXPECT_NE(error_of("[kernel.best_rung]\noom_kill = \"best\"").find("one of fentry"), std::string::npos);
}

TEST(ConfigTest, patience_lengthens_what_is_allowed_to_whom_the_daemon_waits_for) {
  const auto config = parse_config("[testing]\npatience = 5\n[capture.live]\ntimeout_seconds = 2\n", "o.toml");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->patience, 5u);
  EXPECT_EQ(config->live_timeout, std::chrono::seconds(10));
  EXPECT_EQ(config->http.timeout, 5 * HttpCaptureConfig().timeout);
}

TEST(ConfigTest, patterns_of_operations_reach_what_sums_by_them) {
  const auto config = parse_config(R"([operations]
patterns = ["job github.com/acme/jobs .(*Runner).", "library github.com/acme/"]
)",
                                   "o.toml");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  const std::string text = "job github.com/acme/jobs .(*Runner).\nlibrary github.com/acme/";
  EXPECT_EQ(config->patterns.text(), text);
  EXPECT_EQ(config->http.patterns.text(), text);
  EXPECT_EQ(config->correlator.patterns.text(), text);
}

TEST(ConfigTest, a_pattern_that_is_none_names_the_position_and_what_it_must_be) {
  EXPECT_EQ(error_of("[operations]\npatterns = [\"endpoint a.\", \"handler b.\"]\n"),
            "o.toml:2:28: 'handler b.' in 'operations.patterns' must begin with endpoint, method, job or library");
  EXPECT_EQ(error_of("[operations]\npatterns = [\"endpoint\"]\n"),
            "o.toml:2:13: 'endpoint' in 'operations.patterns' must be two or three words: KIND WHERE [FUNCTION]");
  EXPECT_NE(error_of("[operations]\npatterns = [1]\n").find("an array of at most 64 strings"), std::string::npos);
  EXPECT_NE(error_of("[operations]\npatterns = \"job x\"\n").find("an array of at most 64 strings"), std::string::npos);
  std::string many = "[operations]\npatterns = [";
  for (int i = 0; i <= 64; ++i) many += "\"job x\", ";
  EXPECT_NE(error_of(many + "]\n").find("an array of at most 64 strings"), std::string::npos);
}

TEST(ConfigTest, absent_explicit_file_is_an_error) {
  const Result<Config> config = load_config("/nonexistent/o.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_NE(config.error().message.find("/nonexistent/o.toml"), std::string::npos);
}

TEST(ConfigTest, the_kubernetes_api_is_automatic_unless_said) {
  EXPECT_EQ(parse_config("", "o.toml")->kubernetes.mode, KubernetesMode::kAuto);
  EXPECT_EQ(parse_config("[kubernetes]\nenabled = true", "o.toml")->kubernetes.mode, KubernetesMode::kOn);
  EXPECT_EQ(parse_config("[kubernetes]\nenabled = false", "o.toml")->kubernetes.mode, KubernetesMode::kOff);
  EXPECT_EQ(parse_config("[kubernetes]\nenabled = \"auto\"", "o.toml")->kubernetes.mode, KubernetesMode::kAuto);
  EXPECT_EQ(error_of("[kubernetes]\nenabled = \"yes\""),
            "o.toml:2:11: 'kubernetes.enabled' must be true, false or \"auto\"");
}

TEST(ConfigTest, pods_need_not_opt_in_unless_said) {
  EXPECT_FALSE(parse_config("", "o.toml")->kubernetes.capture_opt_in);
  EXPECT_TRUE(parse_config("[kubernetes]\ncapture_opt_in = true", "o.toml")->kubernetes.capture_opt_in);
}

TEST(ConfigTest, no_table_takes_a_key_that_is_not_known) {
  for (const char* table : {"metrics", "analyses", "growth"}) {
    EXPECT_THAT(error_of("[" + std::string(table) + "]\nanything = true\n"), testing::HasSubstr("unknown key"));
  }
  EXPECT_FALSE(parse_config("", "o.toml")->is_showing_processes);
  EXPECT_TRUE(parse_config("[metrics]\nprocesses = true", "o.toml")->is_showing_processes);
}

TEST(ConfigTest, an_unknown_key_that_is_nearly_one_gets_a_suggestion) {
  EXPECT_EQ(error_of("[kernel]\nring_byte = 65536\n"),
            "o.toml:2:1: unknown key 'kernel.ring_byte' (did you mean 'ring_bytes'?)");
  EXPECT_EQ(error_of("[incident]\n"), "o.toml:1:2: unknown key 'incident' (did you mean 'incidents'?)");
}

// The shipped file, every key that it names uncommented.
std::string shipped_file(bool uncommented) {
  static const std::regex key_or_table("# (\\[[a-z._]+\\]|[a-z_]+ = .*)");
  std::ifstream file(test::source_tree() + "/deploy/oomwitness.toml");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    text +=
        (uncommented ? std::regex_replace(line, key_or_table, "$1", std::regex_constants::format_first_only) : line) +
        "\n";
  }
  return text;
}

std::vector<std::string> keys_of(const std::vector<ConfigValue>& values) {
  std::vector<std::string> keys;
  for (const ConfigValue& value : values) keys.push_back(value.key);
  return keys;
}

// "kernel.ring_bytes" for each line that sets a key.
std::vector<std::string> keys_set_in(const std::string& toml) {
  std::vector<std::string> keys;
  std::string table;
  std::istringstream lines(toml);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, found, std::regex("^\\[([a-z0-9._]+)\\]"))) table = found[1].str() + ".";
    if (std::regex_search(line, found, std::regex("^([a-z_]+) = "))) keys.push_back(table + found[1].str());
  }
  return keys;
}

TEST(ConfigTest, shipped_file_as_it_is_changes_nothing) {
  EXPECT_EQ(config_values(shipped_file(false), "o.toml").value(), config_values("", "o.toml").value());
}

TEST(ConfigTest, shipped_file_documents_every_key_and_no_other) {
  EXPECT_THAT(keys_set_in(shipped_file(true)),
              testing::UnorderedElementsAreArray(keys_of(config_values("", "o.toml").value())));
}

TEST(ConfigTest, shipped_file_documents_the_default_of_each_key) {
  const auto documented = config_values(shipped_file(true), "o.toml");
  ASSERT_TRUE(documented.has_value()) << documented.error().message;
  const auto defaults = config_values("", "o.toml").value();
  ASSERT_EQ(documented->size(), defaults.size());
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    EXPECT_EQ((*documented)[i].value, defaults[i].value) << defaults[i].key;
  }
}

TEST(ConfigTest, what_the_cluster_gets_parses) {
  for (const char* name : {"base", "components/pod-events"}) {
    std::ifstream file(test::source_tree() + "/deploy/kubernetes/" + name + "/oomwitness.toml");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    EXPECT_EQ(error_of(text.str()), "") << name;
  }
}

}  // namespace
}  // namespace oomw
