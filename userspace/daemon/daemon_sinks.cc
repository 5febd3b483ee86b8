// SPDX-License-Identifier: Apache-2.0
// The sinks that the configuration asks for.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/daemon_impl.h"
#include "sinks/memory_report.h"
#include "sinks/otlp_settings.h"
#include "sinks/sink_set.h"
#include "system/process_reader.h"

namespace oomw {

void Daemon::Impl::start_sinks() {
  sink_health = std::make_unique<SinkHealth>(config.data_dir, clock);
  const SinkContext context{process_environment(),
                            options.print_line,
                            [this](const std::string& id) { return static_pod_uids.find(id); },
                            sinks_stopping,
                            &clock,
                            sink_health.get()};
  SinkSet set = make_sinks(config.sinks, config.kubernetes, context);
  for (const std::string& problem : set.problems) log::error("sink is off: {}", problem);
  for (NamedDestination& sink : set.sinks) {
    log::info("incidents are delivered to sink {}", sink.name);
    outboxes.push_back(std::make_unique<Outbox>(std::move(sink.name), config.data_dir,
                                                sink.budget.value_or(config.sinks.budget), std::move(sink.destination),
                                                sinks_stopping, *sink_health, clock));
  }
  writer->set_held([this](const std::string& name) {
    return std::ranges::any_of(outboxes, [&](const auto& outbox) { return outbox->holds(name); });
  });
  memory_events = make_memory_events(config.sinks, context);
  start_otlp_metrics(context);
}

void Daemon::Impl::start_otlp_metrics(const SinkContext& context) {
  const auto read = [processes = ProcessReader(config.proc_root)](const ContainerUsage::Process& process) {
    const Result<MappedMemory> memory = processes.memory_of(process.key);
    return memory ? std::optional(ProcessUsage{process, memory->resident_bytes, memory->virtual_bytes}) : std::nullopt;
  };
  otlp_metrics = make_otlp_metrics(config.sinks, context, read);
  otlp_metrics_at = clock.now();
  if (otlp_metrics) {
    log::info("containers' memory is reported by OTLP every {} s", to_seconds(otlp_metrics->interval()));
  } else if (context.environment("OTEL_METRIC_EXPORT_INTERVAL") &&
             find_otlp_metrics(config.sinks.otlp, context.environment).has_value()) {  // an error was logged already
    log::warn(
        "OTEL_METRIC_EXPORT_INTERVAL is set and no metrics go out by OTLP: OTEL_METRICS_EXPORTER=otlp turns them on");
  }
}

void Daemon::Impl::report_memory() {
  if (memory_events && clock.now() - memory_events->looked_at >= MemoryEventSink::kEach) {
    memory_events->looked_at = clock.now();
    auto records = memory_events->events.observe(pipeline->model(), suspicions(), clock.now(), wall_offset_ns(clock),
                                                 memory_events->mapping);
    for (OtlpRecord& record : records) memory_events->sender->offer(std::move(record));
  }
  if (!otlp_metrics || clock.now() - otlp_metrics_at < otlp_metrics->interval()) return;
  otlp_metrics_at = clock.now();
  otlp_metrics->offer(memory_report_of(pipeline->model(), wall_offset_ns(clock)));
}

void Daemon::Impl::add_sink_stats(MetricsSnapshot& snapshot) const {
  for (const auto& outbox : outboxes) {
    const SinkStats stats = outbox->stats();
    SinkMetrics& metrics = snapshot.sinks[outbox->name()];
    metrics.sent = stats.sent;
    for (const auto& [reason, count] : stats.failed) metrics.failed[std::string(to_string(reason))] = count;
    for (const auto& [reason, count] : stats.dead_lettered) {
      metrics.dead_lettered[std::string(to_string(reason))] = count;
    }
    metrics.waiting = stats.waiting;
    if (stats.oldest_unsent) {
      metrics.oldest_unsent_seconds =
          std::max(0.0, static_cast<double>(clock.wall_now().ns - stats.oldest_unsent->ns) / 1e9);
    }
  }
  if (sink_health) {
    for (const auto& [sink, status] : sink_health->failing()) snapshot.failing_sinks[sink] = why_failing(status);
  }
  if (memory_events) {
    const OtlpEvents::Stats events = memory_events->sender->stats();
    MemoryEventMetrics& metrics = snapshot.memory_events.emplace();
    metrics.sent = events.sent;
    metrics.dropped = events.dropped;
    metrics.dropped["too_many"] = memory_events->events.left_out();
  }
  if (!otlp_metrics) return;
  const OtlpMetricsStats stats = otlp_metrics->stats();
  OtlpExportMetrics& exports = snapshot.otlp_exports.emplace();
  for (const auto& [reason, count] : stats.requests) {
    exports.requests[reason == DeliveryReason::kNone ? "sent" : std::string(to_string(reason))] = count;
  }
  exports.dropped = {{"container", stats.containers_left_out},
                     {"process", stats.processes_left_out},
                     {"report", stats.reports_left_out}};
}

void Daemon::Impl::note_pod_uid(const Incident& incident) {
  if (!config.kubernetes.post_events || incident.container.pod_name.empty()) return;
  const PodSeen* pod = pipeline->model().pods().find_pod(incident.container);
  if (pod != nullptr && pod->uid != incident.container.pod_uid) static_pod_uids.note(incident.id, pod->uid);
}

// What became of Events, in the terms of oomwitness_kubernetes_events_total.
void Daemon::Impl::add_event_counts(std::map<std::string, std::uint64_t>& events) const {
  for (const auto& outbox : outboxes) {
    if (outbox->name() != kEventsSink) continue;
    const SinkStats stats = outbox->stats();
    events["posted"] = stats.sent;
    for (const auto& [reason, count] : stats.dead_lettered) {
      const bool is_old = reason == DeliveryReason::kAge || reason == DeliveryReason::kBytes;
      events[reason == DeliveryReason::kForbidden ? "forbidden" : is_old ? "given_up" : "refused"] += count;
    }
  }
}

}  // namespace oomw
