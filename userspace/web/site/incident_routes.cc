// SPDX-License-Identifier: Apache-2.0
#include "web/site/incident_routes.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "report/brief_view.h"
#include "store/incident_reader.h"
#include "verdict/next_steps.h"
#include "verdict/owner_answer.h"
#include "web/site/api.h"
#include "web/site/incident_files.h"
#include "web/site/incident_query.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxPrevious = 20;

// What a browser may make of a file that came from a node: nothing.
constexpr const char* kNoPage = "Content-Security-Policy: default-src 'none'; sandbox\r\n";

Result<HttpResponse> list_answer(IncidentList& list, const HttpRequest& request) {
  ASSIGN_OR_RETURN(const IncidentQuery query, parse_incident_query(request.query, SystemClock().wall_now()));
  RETURN_IF_ERROR(list.refresh());
  nlohmann::json json = answer_of(query, list.newest_first());
  json["unread"] = list.unread();
  return json_response(json, request);
}

Result<HttpResponse> incident_answer(const IncidentList& list, const HttpRequest& request) {
  const std::string id = parts_of("/api/v1/incidents/*", request.path).front();
  ASSIGN_OR_RETURN(const std::string directory, list.directory_of(id));
  ASSIGN_OR_RETURN(const Incident incident, read_incident(directory));
  return json_text_response(to_json(incident), request);
}

nlohmann::json files_json(const std::vector<ListedFile>& files) {
  nlohmann::json out = nlohmann::json::array();
  for (const ListedFile& file : files) {
    out.push_back({{"name", to_valid_utf8(file.name)}, {"bytes", file.bytes}});
  }
  return out;
}

// The other incidents of the same workload, newest first.
nlohmann::json others_of(const IncidentList& list, const std::string& id, const DrawnProfiles& drawn) {
  nlohmann::json out = nlohmann::json::array();
  const auto all = list.newest_first();
  const auto own = std::ranges::find_if(all, [&](const IncidentSummary* s) { return s->id == id; });
  if (own == all.end() || (*own)->workload.empty()) return out;
  for (const IncidentSummary* summary : all) {
    if (summary == *own || summary->workload != (*own)->workload) continue;
    const std::string directory = list.root() + "/" + summary->directory;
    const auto incident = read_incident(directory);
    out.push_back(to_json(*summary));
    out.back()["comparable"] = incident && are_comparable(drawn, drawn_profiles(directory, *incident));
    if (out.size() == kMaxPrevious) break;
  }
  return out;
}

// What report.md advises, to be copied from a page.
nlohmann::json steps_json(const Incident& incident, const std::string& directory) {
  constexpr std::size_t kMaxWhat = 1024, kMaxCommand = 2048;
  nlohmann::json out = nlohmann::json::array();
  for (const NextStep& step : next_steps(incident)) {
    nlohmann::json commands = nlohmann::json::array();
    for (const std::string& line : step.commands) commands.push_back(printable(line, kMaxCommand));
    out.push_back({{"what", printable(text_elsewhere(step, directory), kMaxWhat)}, {"commands", std::move(commands)}});
  }
  return out;
}

Result<HttpResponse> context_answer(IncidentList& list, const HttpRequest& request) {
  const std::string id = parts_of("/api/v1/incidents/*/context", request.path).front();
  ASSIGN_OR_RETURN(const std::string directory, list.directory_of(id));
  RETURN_IF_ERROR(list.refresh());
  ASSIGN_OR_RETURN(const std::vector<ListedFile> files, plain_files_of(directory));
  ASSIGN_OR_RETURN(const Incident incident, read_incident(directory));
  const DrawnProfiles drawn = drawn_profiles(directory, incident);
  return json_response({{"directory", to_valid_utf8(directory)},
                        {"files", files_json(files)},
                        {"profiles", {{"best", drawn.best}, {"before", drawn.before}, {"growth", drawn.growth}}},
                        {"goroutines_matter", goroutines_matter(incident)},
                        {"next_steps", steps_json(incident, directory)},
                        {"others", others_of(list, id, drawn)}},
                       request);
}

// The incident as text for a terminal of ?columns= (100): at most ?lines= of it (one screen), the asker having the rest
// for what says how to go on; all of it with ?full=1.
Result<HttpResponse> text_answer(const IncidentList& list, const HttpRequest& request) {
  constexpr std::size_t kMaxReport = 16u << 20;
  const std::string id = parts_of("/i/*/text", request.path).front();
  const std::uint64_t columns = parse_u64(query_value(request.query, "columns")).value_or(TerminalView::kNoTerminal);
  const TerminalView view{std::clamp<std::size_t>(columns, TerminalView::kLeastColumns, TerminalView::kMostColumns)};
  ASSIGN_OR_RETURN(const std::string directory, list.directory_of(id));
  HttpResponse response{kHttpOk, "text/plain; charset=utf-8", nullptr, false};
  response.more_head = kNoPage;
  if (query_value(request.query, "full") == "1") {
    ASSIGN_OR_RETURN(const PlainFile file, open_plain_file(directory, "report.md"));
    ASSIGN_OR_RETURN(const std::string report, read_open_file(file.fd.get(), "report.md", kMaxReport));
    response.body = std::make_shared<const std::string>(for_terminal(report, view));
    return response;
  }
  ASSIGN_OR_RETURN(const Incident incident, read_incident(directory));
  const WallTime now = SystemClock().wall_now();
  const std::size_t lines = std::min(parse_u64(query_value(request.query, "lines")).value_or(kBriefLines), kBriefLines);
  response.body = std::make_shared<const std::string>(brief_text(incident, "", now, view, lines));
  return response;
}

HttpResponse download(std::shared_ptr<BodySource> stream, const std::string& name) {
  HttpResponse response{kHttpOk, "application/octet-stream", nullptr, false};
  response.more_head =
      "Content-Disposition: attachment; filename=\"" + to_file_component(name, 200) + "\"\r\n" + kNoPage;
  response.stream = std::move(stream);
  return response;
}

Result<HttpResponse> file_answer(const IncidentList& list, const HttpRequest& request) {
  const auto parts = parts_of("/i/*/files/*", request.path);
  ASSIGN_OR_RETURN(const std::string directory, list.directory_of(parts[0]));
  ASSIGN_OR_RETURN(PlainFile file, open_plain_file(directory, parts[1]));
  HttpResponse response = download(stream_of(std::move(file)), parts[1]);
  if (parts[1].ends_with(".svg")) response.type = "image/svg+xml";  // for <img>; opened alone it is a download
  return response;
}

Result<HttpResponse> archive_answer(const IncidentList& list, const HttpRequest& request) {
  const std::string id = parts_of("/i/*.tar.gz", request.path).front();
  ASSIGN_OR_RETURN(const std::string directory, list.directory_of(id));
  ASSIGN_OR_RETURN(auto archive, archive_of(directory, to_file_component(id)));
  return download(std::move(archive), id + ".tar.gz");
}

}  // namespace

std::vector<Route> incident_routes(std::shared_ptr<IncidentList> list) {
  return {
      worker_route("/api/v1/incidents", [list](const HttpRequest& r) { return list_answer(*list, r); }),
      worker_route("/api/v1/incidents/*", [list](const HttpRequest& r) { return incident_answer(*list, r); }),
      worker_route("/api/v1/incidents/*/context", [list](const HttpRequest& r) { return context_answer(*list, r); }),
      worker_route("/i/*/text", [list](const HttpRequest& r) { return text_answer(*list, r); }),
      worker_route("/i/*/files/*", [list](const HttpRequest& r) { return file_answer(*list, r); }),
      worker_route("/i/*.tar.gz", [list](const HttpRequest& r) { return archive_answer(*list, r); }),
  };
}

}  // namespace oomw
