// SPDX-License-Identifier: Apache-2.0
#include "web/site/assets.h"

#include <algorithm>
#include <memory>
#include <string>

#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxPlain = 1u << 20;
constexpr std::string_view kPage = "index.html", kNowLink = "<a href=\"/now\">Now</a>";

std::string type_of(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/html; charset=utf-8";
}

HttpResponse answer(const Asset& asset, const HttpRequest& request) {
  HttpResponse response{kHttpOk, type_of(asset.name), nullptr, request.accepts_gzip};
  if (request.accepts_gzip) {
    response.body = std::make_shared<const std::string>(asset.gzip);
  } else if (auto plain = pprof::gunzip(asset.gzip, kMaxPlain)) {
    response.body = std::make_shared<const std::string>(std::move(*plain));
  }
  return response;
}

HttpResponse named(std::string_view name, const HttpRequest& request) {
  const auto found = std::ranges::find(assets(), name, &Asset::name);
  if (found == assets().end()) return text_response(kHttpNotFound, "no such page\n");
  return answer(*found, request);
}

std::string page_text(bool has_daemon) {
  std::string text = pprof::gunzip(std::ranges::find(assets(), kPage, &Asset::name)->gzip, kMaxPlain).value_or("");
  return has_daemon ? text : text.erase(std::min(text.find(kNowLink), text.size()), kNowLink.size());
}

}  // namespace

std::vector<Route> asset_routes(bool has_daemon) {
  std::vector<Route> routes;
  const auto page = [text = std::make_shared<const std::string>(page_text(has_daemon))](const HttpRequest&) {
    return HttpResponse{kHttpOk, type_of(kPage), text, false};
  };
  for (const char* path : {"/", "/i/*", "/i/*/flame", "/i/*/diff", "/compare", "/now", "/health"}) {
    routes.push_back({"GET", path, page});
  }
  routes.push_back({"GET", "/favicon.ico", [](const HttpRequest& request) { return named("icon.svg", request); }});
  routes.push_back({"GET", "/assets/*", [](const HttpRequest& request) {
                      return named(request.path.substr(std::string_view("/assets/").size()), request);
                    }});
  return routes;
}

}  // namespace oomw
