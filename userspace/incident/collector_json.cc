// SPDX-License-Identifier: Apache-2.0
#include "incident/collector_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "events/json_text.h"

namespace oomw {
namespace {

using Json = nlohmann::ordered_json;

Json components_json(const IncidentCollector& collector) {
  if (!collector.components) return nullptr;
  Json json = Json::array();
  for (const CollectorComponent& component : *collector.components) {
    Json entry = {{"kind", to_valid_utf8(component.kind)},
                  {"id", to_valid_utf8(component.id)},
                  {"module", to_valid_utf8(component.module)},
                  {"held_bytes", component.held_bytes},
                  {"ratio", component.ratio}};
    if (component.growth_bytes) entry["growth_bytes"] = *component.growth_bytes;
    json.push_back(std::move(entry));
  }
  return json;
}

Json exporters_json(const IncidentCollector& collector) {
  if (!collector.exporters) return nullptr;
  Json json = Json::array();
  for (const CollectorExporter& exporter : *collector.exporters) {
    json.push_back({{"id", to_valid_utf8(exporter.id)},
                    {"queue_size", exporter.queue_size},
                    {"queue_capacity", or_null(exporter.queue_capacity)},
                    {"growth", or_null(exporter.growth)}});
  }
  return json;
}

Json metrics_json(const IncidentCollector& collector) {
  if (!collector.read_at) return nullptr;
  return {{"time", to_rfc3339(*collector.read_at)},
          {"lead_seconds", collector.lead_seconds},
          {"readings", collector.readings},
          {"span_seconds", collector.span_seconds}};
}

void read_metrics(JsonReader json, IncidentCollector& collector) {
  json.read("time", collector.read_at);
  json.read("lead_seconds", collector.lead_seconds);
  json.read("readings", collector.readings);
  json.read("span_seconds", collector.span_seconds);
}

CollectorComponent read_component(JsonReader json) {
  CollectorComponent component;
  json.require("kind", component.kind);
  json.require("id", component.id);
  json.read("module", component.module);
  json.require("held_bytes", component.held_bytes);
  json.read("ratio", component.ratio);
  json.read("growth_bytes", component.growth_bytes);
  return component;
}

CollectorExporter read_exporter(JsonReader json) {
  CollectorExporter exporter;
  json.require("id", exporter.id);
  json.require("queue_size", exporter.queue_size);
  json.read("queue_capacity", exporter.queue_capacity);
  json.read("growth", exporter.growth);
  return exporter;
}

}  // namespace

nlohmann::ordered_json collector_json(const IncidentCollector& collector) {
  const auto& refused = collector.limiter_refused;
  Json json = {
      {"components", components_json(collector)},
      {"components_file", collector.components_file.empty() ? Json(nullptr) : Json(collector.components_file)},
      {"exporters", exporters_json(collector)},
      {"memory_limiter", refused ? Json{{"refused", *refused}} : Json(nullptr)},
      {"receivers", collector.receiver_refused ? Json{{"refused", *collector.receiver_refused}} : Json(nullptr)},
      {"metrics", metrics_json(collector)}};
  if (!collector.components_since_file.empty()) json["components_since_file"] = collector.components_since_file;
  return json;
}

void read_collector(JsonReader json, IncidentCollector& collector) {
  json.read("components_file", collector.components_file);
  json.read("components_since_file", collector.components_since_file);
  if (!collector.components_file.empty()) collector.components.emplace();
  json.objects("components", kMaxCollectorComponents, [&](JsonReader item) {
    if (!collector.components) collector.components.emplace();
    collector.components->push_back(read_component(item));
  });
  json.object("metrics", [&](JsonReader metrics) { read_metrics(metrics, collector); });
  if (collector.read_at) collector.exporters.emplace();
  json.objects("exporters", kMaxCollectorComponents, [&](JsonReader item) {
    if (!collector.exporters) collector.exporters.emplace();
    collector.exporters->push_back(read_exporter(item));
  });
  json.object("memory_limiter", [&](JsonReader limiter) { limiter.read("refused", collector.limiter_refused); });
  json.object("receivers", [&](JsonReader receivers) { receivers.read("refused", collector.receiver_refused); });
}

std::vector<std::string> collector_notes(const IncidentCollector& collector) {
  std::vector<std::string> notes;
  if (!collector.components) {
    notes.emplace_back("collector.components: no heap profile of the victim names a component of the Collector");
  }
  if (!collector.read_at) {
    notes.emplace_back(
        "collector.metrics: the Collector's own metrics were not read before the kill, so who keeps the memory is not "
        "known: they are asked for on port 8888 of its own network namespace when its memory passes 50 % of the limit");
    return notes;
  }
  if (!collector.limiter_refused) {
    notes.emplace_back("collector.memory_limiter: its metrics know of no memory_limiter that has seen data");
  }
  if (!collector.receiver_refused) notes.emplace_back("collector.receivers: its metrics have no receivers' counters");
  if (collector.readings == 1) {
    notes.emplace_back("collector.exporters.growth: its metrics were read once only");
  } else if (std::any_of(collector.exporters->begin(), collector.exporters->end(),
                         [](const CollectorExporter& e) { return !e.growth; })) {
    notes.emplace_back("collector.exporters.growth: some queues were not there at the first reading");
  }
  return notes;
}

}  // namespace oomw
