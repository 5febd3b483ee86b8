// SPDX-License-Identifier: Apache-2.0
#include "web/site/live_routes.h"

#include <sys/statvfs.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "base/version.h"
#include "store/retention_file.h"
#include "web/site/api.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxDropped = 50;

Result<HttpResponse> now_answer(DaemonLink* link, const HttpRequest& request) {
  if (link == nullptr) {
    return fail(ErrorCode::kNotFound, "no daemon runs here: these are incidents on disk. See the node's own page.");
  }
  ASSIGN_OR_RETURN(std::string text, link->ask(LiveQuestion::kNow));
  return json_text_response(std::move(text), request);
}

nlohmann::json space_of(const std::string& directory) {
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) return nullptr;
  return {{"free_bytes", space.f_bavail * space.f_frsize}, {"total_bytes", space.f_blocks * space.f_frsize}};
}

// For whom retention made room.
nlohmann::json dropped_of(const std::string& data_dir) {
  const auto state = load_retention(data_dir);
  if (!state) return nullptr;
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [workload, dropped] : state->dropped) {
    if (out.size() == kMaxDropped) break;
    out.push_back({{"workload", printable(workload)}, {"count", dropped.count}, {"last", to_rfc3339(dropped.last)}});
  }
  return out;
}

Result<HttpResponse> health_answer(const std::string& data_dir, DaemonLink* link, IncidentList& list,
                                   const HttpRequest& request) {
  const auto refreshed = list.refresh();
  nlohmann::json out = {{"version", kVersion},
                        {"directory", to_valid_utf8(list.root())},
                        {"incidents", list.newest_first().size()},
                        {"unread", list.unread()},
                        {"error", refreshed ? nlohmann::json() : nlohmann::json(printable(refreshed.error().message))},
                        {"space", space_of(data_dir)},
                        {"dropped", dropped_of(data_dir)},
                        {"daemon", nullptr}};
  if (link != nullptr) {
    const auto text = link->ask(LiveQuestion::kHealth);
    if (text) out["daemon"] = parse_json(*text);
    if (!text) out["daemon_error"] = printable(text.error().message);
  }
  return json_response(out, request);
}

}  // namespace

std::vector<Route> live_routes(std::string data_dir, std::shared_ptr<DaemonLink> link,
                               std::shared_ptr<IncidentList> list) {
  return {worker_route("/api/v1/now", [link](const HttpRequest& r) { return now_answer(link.get(), r); }),
          worker_route("/api/v1/health", [data_dir = std::move(data_dir), link, list](const HttpRequest& r) {
            return health_answer(data_dir, link.get(), *list, r);
          })};
}

}  // namespace oomw
