// SPDX-License-Identifier: Apache-2.0
// The sinks that the configuration asks for.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/daemon_impl.h"
#include "sinks/sink_set.h"

namespace oomw {

void Daemon::Impl::start_sinks() {
  const SinkContext context{process_environment(), options.print_line,
                            [this](const std::string& id) { return pod_uids.find(id); }, sinks_stopping, &clock};
  SinkSet set = make_sinks(config.sinks, config.kubernetes, context);
  for (const std::string& problem : set.problems) log::error("sink is off: {}", problem);
  for (NamedDestination& sink : set.sinks) {
    log::info("incidents are delivered to sink {}", sink.name);
    outboxes.push_back(std::make_unique<Outbox>(std::move(sink.name), config.data_dir,
                                                sink.budget.value_or(config.sinks.budget), std::move(sink.destination),
                                                sinks_stopping, clock));
  }
  writer->set_held([this](const std::string& name) {
    return std::ranges::any_of(outboxes, [&](const auto& outbox) { return outbox->holds(name); });
  });
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
}

// A static pod's cgroups bear another uid than the API shows.
void Daemon::Impl::note_pod_uid(const Incident& incident) {
  if (outboxes.empty() || incident.container.pod_name.empty()) return;
  const PodSeen* pod = pipeline->model().pods().find_pod(incident.container);
  if (pod != nullptr) pod_uids.note(incident.id, pod->uid);
}

// The results that this metric had before Events were delivered by an outbox.
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
