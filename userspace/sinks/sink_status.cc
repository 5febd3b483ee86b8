// SPDX-License-Identifier: Apache-2.0
#include "sinks/sink_status.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "sinks/delivery_marker.h"
#include "store/directory_names.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxStatusBytes = 4'096;
constexpr std::size_t kMaxIncidents = 100'000;
constexpr std::size_t kMaxDetail = 512;

std::string path_of(const std::string& data_dir, const std::string& sink) {
  return data_dir + "/sink-" + sink + ".json";
}

SinkStatus status_of(const nlohmann::json& json) {
  SinkStatus status;
  status.is_failing = json.at("failing").get<bool>();
  (void)read_name(json.at("reason").get<std::string>(), status.reason);
  status.detail = printable(json.at("detail").get<std::string>(), kMaxDetail);
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
    return status_of(nlohmann::json::parse(text));
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
                                       {"detail", printable(status.detail, kMaxDetail)},
                                       {"since", to_rfc3339(status.since.value_or(WallTime{}))}};
  return write_file_atomic(path_of(data_dir, sink),
                           json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

SinkSurvey survey_sink(const std::string& data_dir, const std::string& sink) {
  SinkSurvey survey;
  survey.sink = sink;
  survey.status = load_sink_status(data_dir, sink);
  Result<std::vector<std::string>> names = list_directory(data_dir + "/incidents", kMaxIncidents);
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
  if (survey.status && survey.status->is_failing) {
    text += fmt::format("; failing since {}: {}: {}",
                        to_rfc3339(survey.status->since.value_or(WallTime{})).substr(0, 19) + "Z",
                        to_string(survey.status->reason), survey.status->detail);
  }
  if (!survey.last_dead.empty()) text += "; last dead letter " + survey.last_dead;
  return text;
}

}  // namespace oomw
