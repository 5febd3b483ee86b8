// SPDX-License-Identifier: Apache-2.0
#include "web/site/assets.h"

#include <algorithm>
#include <memory>
#include <string>

#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxPlain = 1u << 20;

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

}  // namespace

std::vector<Route> asset_routes() {
  std::vector<Route> routes;
  const auto page = [](const HttpRequest& request) { return named("index.html", request); };
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
