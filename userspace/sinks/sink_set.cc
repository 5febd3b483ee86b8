// SPDX-License-Identifier: Apache-2.0
#include "sinks/sink_set.h"
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sinks/fold_job.h"
#include "sinks/kubernetes_event.h"
#include "sinks/otlp_logs.h"
#include "sinks/otlp_profile.h"
#include "sinks/profile_push.h"
#include "sinks/record_file.h"
#include "sinks/s3_destination.h"
#include "sinks/webhook.h"

namespace oomw {
namespace {

OtlpMapping mapping_of(const SinksConfig& config) {
  OtlpMapping mapping;
  mapping.cluster_name = config.cluster_name;
  mapping.has_command_line = config.otlp.has_command_line;
  mapping.has_service_from_labels = config.otlp.has_service_from_labels;
  mapping.has_profiles = config.otlp.has_profiles;
  mapping.artifacts_url = artifacts_url_of(config);
  mapping.host_name = host_name();
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

void add_s3(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  if (config.s3.bucket.empty()) return;
  const auto environment = [&](const char* name) { return context.environment(name).value_or(""); };
  Result<S3Client> client = S3Client::make(config.s3, environment, *context.clock, perform, context.stopping.get());
  if (!client) return set.problems.push_back("s3: " + client.error().message);
  set.sinks.push_back(
      {"s3", std::make_unique<S3Destination>(std::move(*client), config.s3.prefix, config.cluster_name)});
}

// A reader process of its own, used by the sink's thread alone: it lives as long as there is work.
ProfileStore::Fold fold_by_reader(FoldedForm form, const SinkContext& context) {
  const Clock& clock = *context.clock;
  return [form, &clock, reader = std::make_shared<reader::Reader>(clock)](const StoredFile& profile) {
    return fold_profile(profile, form, *reader, clock.now());
  };
}

void add_profiles(ProfileStore store, const SinkContext& context, SinkSet& set) {
  std::string name = store.name;
  set.sinks.push_back(
      {std::move(name), std::make_unique<ProfilePush>(std::move(store), context.stopping, *context.clock)});
}

void add_pyroscope(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  if (config.pyroscope.url.empty()) return;
  HttpEndpoint endpoint;
  endpoint.url = config.pyroscope.url;
  endpoint.headers_file = config.pyroscope.headers_file;
  endpoint.ca_file = config.pyroscope.ca_file;
  add_profiles(pyroscope_store(std::move(endpoint), config.pyroscope.is_parca, mapping_of(config),
                               fold_by_reader(FoldedForm::kPprof, context), context.stopping),
               context, set);
}

void add_otlp_profiles(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  auto settings = find_otlp_profiles(config.otlp, context.environment);
  if (!settings) return set.problems.push_back("otlp_profiles: " + settings.error().message);
  if (!*settings) return;
  add_profiles(otlp_profile_store(std::move(**settings), mapping_of(config), fold_by_reader(FoldedForm::kOtlp, context),
                                  context.stopping),
               context, set);
}

// start_pods() reports an API that cannot be used.
void add_events(const SinksConfig& config, const KubernetesConfig& kubernetes, const SinkContext& context,
                SinkSet& set) {
  if (!kubernetes.post_events) return;
  auto target = find_api(kubernetes, context.environment);
  if (!target || !*target) return;
  OutboxBudget budget = config.budget;
  budget.age = std::min(budget.age, KubernetesEvents::kMaxAge);
  set.sinks.push_back(
      {std::string(kEventsSink),
       std::make_unique<KubernetesEvents>(std::move(**target), context.find_pod_uid, context.stopping, *context.clock),
       budget});
}

// nullopt: switched off, or no receiver, or make_sinks says what is wrong with it.
std::optional<OtlpSettings> find_memory_events(const SinksConfig::Otlp& config, const Environment& environment) {
  const auto settings = find_otlp_logs(config, environment);
  return config.has_memory_events && settings ? *settings : std::nullopt;
}

void add_signals(const SinksConfig& config, const SinkContext& context, SinkSet& set) {
  if (find_memory_events(config.otlp, context.environment)) set.signals.emplace_back(kMemoryEventsSignal);
  const auto metrics = find_otlp_metrics(config.otlp, context.environment);
  if (!metrics) return set.problems.push_back("otlp_metrics: " + metrics.error().message);
  if (*metrics) set.signals.emplace_back(kMetricsSignal);
}

// A refusal counts as a failure here: nothing else would say what became of a request that nobody keeps.
std::function<Delivery(const std::string&)> noted_poster(const char* signal, const OtlpSettings& settings,
                                                         const SinkContext& context) {
  return [signal, post = otlp_poster(settings, context.stopping), stopping = context.stopping,
          health = context.health](const std::string& body) {
    Delivery delivery = post(body);
    if (!*stopping) health->note(signal, delivery.outcome != Delivery::Outcome::kSent, delivery);
    return delivery;
  };
}

}  // namespace

std::function<std::string(const std::string& id)> artifacts_url_of(const SinksConfig& config) {
  if (config.s3.bucket.empty()) return {};
  return [bucket = config.s3.bucket, prefix = config.s3.prefix, cluster = config.cluster_name](const std::string& id) {
    return object_url(bucket, incident_key(prefix, cluster, id));
  };
}

SinkSet make_sinks(const SinksConfig& config, const KubernetesConfig& kubernetes, const SinkContext& context) {
  SinkSet set;
  add_otlp(config, context, set);
  add_webhook(config, context, set);
  add_file(config, context, set);
  add_s3(config, context, set);
  add_pyroscope(config, context, set);
  add_otlp_profiles(config, context, set);
  add_events(config, kubernetes, context, set);
  add_signals(config, context, set);
  return set;
}

std::unique_ptr<MemoryEventSink> make_memory_events(const SinksConfig& config, const SinkContext& context) {
  const auto settings = find_memory_events(config.otlp, context.environment);
  if (!settings) return nullptr;
  auto made = std::make_unique<MemoryEventSink>(config.otlp.near_limit_for);
  made->mapping = mapping_of(config);
  made->sender = std::make_unique<OtlpEvents>(settings->is_json, noted_poster(kMemoryEventsSignal, *settings, context),
                                              context.stopping);
  return made;
}

std::unique_ptr<OtlpMetrics> make_otlp_metrics(const SinksConfig& config, const SinkContext& context,
                                               OtlpMetrics::ReadProcess read_process) {
  const auto settings = find_otlp_metrics(config.otlp, context.environment);
  if (!settings || !*settings) return nullptr;
  return std::make_unique<OtlpMetrics>((*settings)->is_json, noted_poster(kMetricsSignal, **settings, context),
                                       mapping_of(config), std::move(read_process), context.stopping, *context.clock,
                                       (*settings)->interval);
}

}  // namespace oomw
