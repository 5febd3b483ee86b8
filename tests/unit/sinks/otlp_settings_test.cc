// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_settings.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Result<std::optional<OtlpSettings>> find(const Variables& variables, const SinksConfig::Otlp& config = {}) {
  return find_otlp_logs(config, [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string url_of(const Variables& variables, const std::string& endpoint = "") {
  SinksConfig::Otlp config;
  config.endpoint = endpoint;
  const auto found = find(variables, config);
  return found.has_value() && *found ? (*found)->endpoint.url : "";
}

std::string error_of(const Variables& variables) {
  const auto found = find(variables);
  return found.has_value() ? "" : found.error().message;
}

TEST(OtlpSettings, nothing_set_is_off) { EXPECT_EQ(url_of({}), ""); }

TEST(OtlpSettings, the_base_gets_the_path_of_the_signal) {
  EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"}}), "http://c:4318/v1/logs");
  EXPECT_EQ(url_of({}, "https://c/otlp"), "https://c/otlp/v1/logs");
}

TEST(OtlpSettings, the_signals_own_variable_comes_first_and_is_used_as_it_is) {
  EXPECT_EQ(
      url_of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}, {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l/x"}}),
      "http://l/x");
  EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l/x"}}, "http://file"), "http://file/v1/logs");
}

TEST(OtlpSettings, the_standard_switch_turns_it_off) {
  EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}, {"OTEL_LOGS_EXPORTER", "none"}}), "");
}

TEST(OtlpSettings, the_rest_of_the_environment_is_read) {
  const auto found = *find({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://c"},
                            {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=1"},
                            {"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
                            {"OTEL_EXPORTER_OTLP_TIMEOUT", "1500"},
                            {"OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "2500"},
                            {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
                            {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca"},
                            {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/cert"},
                            {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key"}});
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->endpoint.headers, ElementsAre("api-key: a b", "x: 1"));
  EXPECT_FALSE(found->is_gzip);
  EXPECT_TRUE(found->is_json);
  EXPECT_EQ(found->endpoint.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(found->endpoint.ca_file, "/ca");
  EXPECT_EQ(found->endpoint.certificate_file, "/cert");
  EXPECT_EQ(found->endpoint.key_file, "/key");
}

std::string metrics_url_of(const Variables& variables, const SinksConfig::Otlp& config = {}) {
  const auto found = find_otlp_metrics(config, [variables](const char* name) -> std::optional<std::string> {
    const auto value = variables.find(name);
    return value == variables.end() ? std::nullopt : std::optional(value->second);
  });
  if (!found.has_value()) return found.error().message;
  return *found ? (*found)->endpoint.url : "";
}

TEST(OtlpSettings, metrics_are_on_only_where_somebody_asks_for_them) {
  const std::pair<const char*, const char*> base{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"};
  SinksConfig::Otlp config;
  config.endpoint = "http://file";
  EXPECT_EQ(metrics_url_of({base}), "");
  EXPECT_EQ(metrics_url_of({base}, config), "");
  EXPECT_EQ(metrics_url_of({base, {"OTEL_METRICS_EXPORTER", "otlp"}}), "http://c:4318/v1/metrics");
  EXPECT_EQ(metrics_url_of({{"OTEL_METRICS_EXPORTER", "otlp"}}, config), "http://file/v1/metrics");
  EXPECT_EQ(metrics_url_of({base, {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/x"}}), "http://m/x");
  EXPECT_EQ(metrics_url_of({{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/x"}, {"OTEL_METRICS_EXPORTER", "none"}}),
            "");
  config.has_metrics = true;
  EXPECT_EQ(metrics_url_of({{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/x"}}, config), "http://file/v1/metrics");
  config.endpoint.clear();
  EXPECT_THAT(metrics_url_of({}, config), HasSubstr("no endpoint"));
}

TEST(OtlpSettings, metrics_go_out_at_the_interval_of_the_configuration_else_of_the_environment) {
  const auto interval = [](const std::string& variable, int seconds) -> std::string {
    SinksConfig::Otlp config;
    config.endpoint = "http://c";
    config.has_metrics = true;
    config.metrics_interval = std::chrono::seconds(seconds);
    const auto found = find_otlp_metrics(config, [&](const char* name) -> std::optional<std::string> {
      return std::string(name) == "OTEL_METRIC_EXPORT_INTERVAL" ? std::optional(variable) : std::nullopt;
    });
    return found ? std::to_string((*found)->interval / std::chrono::milliseconds(1)) : found.error().message;
  };
  EXPECT_EQ(interval("", 0), "60000");
  EXPECT_EQ(interval("15000", 0), "15000");
  EXPECT_EQ(interval("15000", 5), "5000");
  for (const char* wrong : {"999", "3600001", "1e4", "-1"}) {
    EXPECT_THAT(interval(wrong, 0), HasSubstr("OTEL_METRIC_EXPORT_INTERVAL must be milliseconds")) << wrong;
  }
}

TEST(OtlpSettings, the_documentation_has_every_variable_that_is_read) {
  const std::string page = read_file(test::source_tree() + "/docs/sinks.md", 1u << 20).value();
  std::set<std::string> read;
  const Environment environment = [&read](const char* name) -> std::optional<std::string> {
    read.insert(name);
    const std::string_view text(name);
    return text.ends_with("OTLP_ENDPOINT") ? std::optional<std::string>("http://c") : std::nullopt;
  };
  SinksConfig::Otlp config;
  config.has_profiles = config.has_metrics = true;
  EXPECT_TRUE(find_otlp_logs(config, environment) && find_otlp_metrics(config, environment) &&
              find_otlp_profiles(config, environment));
  EXPECT_GT(read.size(), 25u);
  for (std::string name : read) {
    for (const char* signal : {"OTLP_LOGS_", "OTLP_METRICS_", "OTLP_PROFILES_"}) {
      if (const auto at = name.find(signal); at != name.npos) name = name.substr(0, at) + signal + "*";
    }
    EXPECT_THAT(page, HasSubstr("`" + name + "`"));
  }
}

TEST(OtlpSettings, what_is_wrong_is_named_without_its_value) {
  const std::pair<const char*, const char*> base{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"};
  EXPECT_THAT(error_of({base, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}), HasSubstr("PROTOCOL"));
  EXPECT_THAT(error_of({base, {"OTEL_EXPORTER_OTLP_TIMEOUT", "0"}}), HasSubstr("TIMEOUT"));
  EXPECT_THAT(error_of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317"}}), HasSubstr("endpoint"));
  for (const char* headers : {"secret", "a=%zz", "a=%0a", "a b=secret"}) {
    const std::string error = error_of({base, {"OTEL_EXPORTER_OTLP_HEADERS", headers}});
    EXPECT_NE(error, "") << headers;
    EXPECT_EQ(error.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace oomw
