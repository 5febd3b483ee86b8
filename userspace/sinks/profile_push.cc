// SPDX-License-Identifier: Apache-2.0
#include "sinks/profile_push.h"

#include <algorithm>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"
#include "sinks/s3/sha256.h"

namespace oomw {
namespace {

constexpr Nanoseconds kPyroscopeMaxAge = std::chrono::minutes(55);
constexpr std::size_t kMaxLabel = 200;  // Pyroscope takes 2,048 bytes
constexpr Nanoseconds kStep = std::chrono::milliseconds(100);

std::string text_of(const OtlpRecord& record, std::string_view key) {
  for (const OtlpRecord::Attribute& attribute : record.resource) {
    const auto* text = std::get_if<std::string>(&attribute.value);
    if (attribute.key == key && text != nullptr) return *text;
  }
  return "";
}

std::string endpoint_path(bool is_parca) { return is_parca ? "/api/profiles/writeraw" : "/push.v1.PusherService/Push"; }

HttpEndpoint with_path(HttpEndpoint endpoint, bool is_parca) {
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  endpoint.url += endpoint_path(is_parca);
  return endpoint;
}

}  // namespace

ProfileLabels profile_labels_of(const Incident& incident, const OtlpMapping& mapping) {
  const OtlpRecord record = otlp_record_of(incident, "", 1, incident.time, mapping);
  const std::string service = text_of(record, "service.name");
  ProfileLabels labels = {{"__name__", "memory"},
                          {"__delta__", "false"},
                          {"service_name", printable(service.empty() ? "unknown" : service, kMaxLabel)}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) labels.emplace_back(name, printable(value, kMaxLabel));
  };
  add("namespace", incident.container.pod_namespace);
  add("pod", incident.container.pod_name);
  add("container", incident.container.name);
  add("node", incident.pod ? incident.pod->node : "");
  add("cluster", mapping.cluster_name);
  add("source", "oomwitness");
  return labels;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U; };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return text;
}

std::string uuid_of(std::string_view text) {
  std::string hex = to_hex(sha256(text)).substr(0, 32);
  hex[12] = '8';  // version 8: of one's own making
  hex[16] = "89ab"[hex[16] & 3];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20);
}

std::string push_body(const ProfileLabels& labels, const std::string& id, std::string_view gzip_profile,
                      bool is_parca) {
  nlohmann::json pairs = nlohmann::json::array();
  for (const auto& [name, value] : labels) {
    // Parca's names must not begin with two underscores but for the name itself.
    if (!is_parca || name != "__delta__") pairs.push_back({{"name", name}, {"value", value}});
  }
  nlohmann::json sample = {{"rawProfile", base64(gzip_profile)}};
  if (!is_parca) sample["ID"] = id;
  const nlohmann::json set = is_parca ? nlohmann::json{{"labels", pairs}} : pairs;
  const nlohmann::json series = {{"labels", set}, {"samples", nlohmann::json::array({sample})}};
  return to_json_utf8(nlohmann::json{{"series", nlohmann::json::array({series})}});
}

ProfileStore pyroscope_store(HttpEndpoint endpoint, bool is_parca, OtlpMapping mapping, ProfileStore::Fold fold,
                             std::shared_ptr<const std::atomic<bool>> stopping) {
  const auto client = std::make_shared<HttpClient>(with_path(std::move(endpoint), is_parca), std::move(stopping));
  const auto send = [client, is_parca, mapping = std::move(mapping)](
                        const Incident& incident, const IncidentCapture& capture, const std::string& folded) {
    const std::string body =
        push_body(profile_labels_of(incident, mapping), uuid_of(incident.id + "/" + capture.file), folded, is_parca);
    return delivery_of(client->post({body, "application/json", false}));
  };
  return {"pyroscope", kPyroscopeMaxAge, std::move(fold), send};
}

ProfilePush::ProfilePush(ProfileStore store, std::shared_ptr<const std::atomic<bool>> stopping, const Clock& clock)
    : store_(std::move(store)), stopping_(std::move(stopping)), clock_(clock) {}

// False: the daemon ends. A kill "in the future" is not waited for: the clock was set back.
bool ProfilePush::settle(WallTime kill) const {
  const std::int64_t age = clock_.wall_now().ns - kill.ns;
  Nanoseconds left = age < 0 ? Nanoseconds(0) : std::max(Nanoseconds(0), kSettle - Nanoseconds(age));
  for (; left > Nanoseconds(0) && !*stopping_; left -= kStep) std::this_thread::sleep_for(std::min(left, kStep));
  return !*stopping_;
}

Delivery ProfilePush::deliver(const StoredIncident& stored, unsigned) {
  if (read_file(stored.directory + "/.profile-" + store_.name, 4'096).has_value()) return Delivery::nothing();
  if (!settle(stored.incident.time)) return Delivery::retry(DeliveryReason::kCut, "the daemon ends");
  const Result<Incident> incident = read_incident(stored.directory);
  if (!incident) return Delivery::refused(DeliveryReason::kUnreadable, printable(incident.error().message));
  const IncidentCapture* best = best_capture(*incident);
  if (best == nullptr || best->file.empty()) return Delivery::nothing();
  if (store_.max_age && clock_.wall_now().ns - best->time.ns > store_.max_age->count()) {
    return Delivery::refused(DeliveryReason::kAge, "the profile is older than the " +
                                                       std::to_string(*store_.max_age / std::chrono::minutes(1)) +
                                                       " minutes that a store takes");
  }
  return send(*incident, *best, stored.directory);
}

Delivery ProfilePush::send(const Incident& incident, const IncidentCapture& capture, const std::string& directory) {
  const Result<StoredFile> file = open_stored_file(directory, capture.file);
  if (!file) return Delivery::refused(DeliveryReason::kUnreadable, printable(file.error().message));
  const Result<std::string> folded = store_.fold(*file);
  if (!folded) return Delivery::refused(DeliveryReason::kUnreadable, printable(folded.error().message));
  Delivery delivery = store_.send(incident, capture, *folded);
  if (delivery.outcome == Delivery::Outcome::kSent) {
    (void)write_file_atomic(directory + "/.profile-" + store_.name, capture.file + "\n");
  }
  return delivery;
}

}  // namespace oomw
