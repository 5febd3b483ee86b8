// SPDX-License-Identifier: Apache-2.0
#include "sinks/sink_status.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "sinks/delivery_marker.h"
#include "store/directory_names.h"
#include "store/incident_index.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxStatusBytes = 4'096;

std::string path_of(const std::string& data_dir, const std::string& sink) {
  return data_dir + "/sink-" + sink + ".json";
}

SinkStatus status_of(const nlohmann::json& json) {
  SinkStatus status;
  status.is_failing = json.at("failing").get<bool>();
  (void)read_name(json.at("reason").get<std::string>(), status.reason);
  status.detail = printable(json.at("detail").get<std::string>(), kMaxStoredDetail);
  status.since = parse_rfc3339(json.at("since").get<std::string>());
  return status;
}

void add_incident(SinkSurvey& survey, const std::string& directory, const std::string& name) {
  const auto marker = read_marker(directory, survey.sink);
  if (!marker) {
    ++survey.unsent;
  } else if (marker->state == MarkerState::kSent) {
    ++(marker->sent > 0 ? survey.sent : survey.without);
  } else {
    ++survey.dead;
    survey.last_dead = id_of_directory(name) + ": " + std::string(to_string(marker->reason)) +
                       (marker->detail.empty() ? "" : ": " + marker->detail);
  }
}

}  // namespace

std::optional<SinkStatus> parse_sink_status(std::string_view text) {
  try {
    return status_of(parse_json(text));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<SinkStatus> load_sink_status(const std::string& data_dir, const std::string& sink) {
  const Result<std::string> text = read_file(path_of(data_dir, sink), kMaxStatusBytes);
  return text ? parse_sink_status(*text) : std::nullopt;
}

Result<> save_sink_status(const std::string& data_dir, const std::string& sink, const SinkStatus& status) {
  const nlohmann::ordered_json json = {{"failing", status.is_failing},
                                       {"reason", to_string(status.reason)},
                                       {"detail", printable(status.detail, kMaxStoredDetail)},
                                       {"since", to_rfc3339(status.since.value_or(WallTime{}))}};
  return write_file_atomic(path_of(data_dir, sink), to_json_utf8(json, 1) + "\n");
}

std::string why_failing(const SinkStatus& status) {
  return std::string(to_string(status.reason)) + ": " + printable(status.detail, kMaxStoredDetail);
}

std::string to_text(const SinkStatus& status) {
  if (!status.is_failing) return "no failure is known";
  return "failing since " + to_rfc3339(status.since.value_or(WallTime{})).substr(0, 19) + "Z: " + why_failing(status);
}

// What an earlier daemon knew counts until the first try of this one.
SinkStatus SinkHealth::before(const std::string& sink) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(sink); found != known_.end()) return found->second;
  }
  return load_sink_status(data_dir_, sink).value_or(SinkStatus{});
}

void SinkHealth::note(const std::string& sink, bool is_failing, const Delivery& delivery) {
  SinkStatus status{is_failing, is_failing ? delivery.reason : DeliveryReason::kNone, is_failing ? delivery.detail : "",
                    clock_.wall_now()};
  SinkStatus last = before(sink);
  const bool is_news = status != last;
  if (!is_news) status = std::move(last);
  {
    const std::lock_guard lock(mutex_);
    known_[sink] = status;
  }
  if (!is_news) return;
  if (is_failing) {
    log::warn("sink {} fails: {}", sink, why_failing(status));
  } else {
    log::info("sink {} works again", sink);
  }
  (void)save_sink_status(data_dir_, sink, status);
}

std::map<std::string, SinkStatus> SinkHealth::failing() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, SinkStatus> found = known_;
  std::erase_if(found, [](const auto& sink) { return !sink.second.is_failing; });
  return found;
}

SinkSurvey survey_sink(const std::string& data_dir, const std::string& sink) {
  SinkSurvey survey;
  survey.sink = sink;
  survey.status = load_sink_status(data_dir, sink);
  Result<std::vector<std::string>> names = list_directory(data_dir + "/incidents", IncidentIndex::kMaxEntries);
  if (!names) return survey;
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    if (is_incident_directory(name)) add_incident(survey, data_dir + "/incidents/" + name, name);
  }
  return survey;
}

std::string to_text(const SinkSurvey& survey) {
  std::string text = fmt::format("{} delivered, {} not yet, {} dead-lettered", survey.sent, survey.unsent, survey.dead);
  if (survey.without > 0) text += fmt::format(", {} with nothing for it", survey.without);
  if (survey.status && survey.status->is_failing) text += "; " + to_text(*survey.status);
  if (!survey.last_dead.empty()) text += "; last dead letter " + survey.last_dead;
  return text;
}

}  // namespace oomw
