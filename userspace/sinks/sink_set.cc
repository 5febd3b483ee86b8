// SPDX-License-Identifier: Apache-2.0
#include "sinks/sink_set.h"

#include <sys/utsname.h>

#include <utility>

#include "base/text.h"
#include "sinks/otlp_logs.h"
#include "sinks/record_file.h"
#include "sinks/webhook.h"

namespace oomw {
namespace {

OtlpMapping mapping_of(const SinksConfig& config) {
  OtlpMapping mapping;
  mapping.cluster_name = config.cluster_name;
  mapping.has_command_line = config.otlp.has_command_line;
  mapping.has_service_from_labels = config.otlp.has_service_from_labels;
  utsname name{};
  if (uname(&name) == 0) mapping.host_name = name.nodename;
  return mapping;
}

void add_otlp(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  auto settings = find_otlp_logs(config.otlp, context.environment);
  if (!settings) return set.problems.push_back("otlp: " + settings.error().message);
  if (!*settings) return;
  set.sinks.push_back({"otlp", std::make_unique<OtlpLogs>(std::move(**settings), mapping_of(config), context.stopping,
                                                          *context.clock)});
}

void add_webhook(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  if (config.webhook.url.empty()) return;
  HttpEndpoint endpoint;
  endpoint.url = config.webhook.url;
  endpoint.headers_file = config.webhook.headers_file;
  endpoint.ca_file = config.webhook.ca_file;
  endpoint.timeout = config.webhook.timeout;
  const std::string source =
      config.cluster_name.empty() ? "/oomwitness" : "/clusters/" + to_file_component(config.cluster_name, 253);
  set.sinks.push_back({"webhook", std::make_unique<Webhook>(std::move(endpoint), config.webhook.is_cloud_event, source,
                                                            context.stopping)});
}

void add_file(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  if (config.file.path.empty()) return;
  set.sinks.push_back({"file", std::make_unique<RecordFile>(config.file.path, config.file.max_bytes, context.print_line,
                                                            mapping_of(config), *context.clock)});
}

}  // namespace

SinkSet make_sinks(const SinksConfig& config, const SinkContext& context) {
  SinkSet set;
  add_otlp(config, context, set);
  add_webhook(config, context, set);
  add_file(config, context, set);
  return set;
}

}  // namespace oomw
