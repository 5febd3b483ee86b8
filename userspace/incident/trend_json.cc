// SPDX-License-Identifier: Apache-2.0
#include "incident/trend_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "incident/incident.h"

namespace oomw {
namespace {

using Json = nlohmann::ordered_json;

// What is not known is left out; a figure that is none is not known: JSON has no infinity.
void put(Json& json, const char* name, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) json[name] = *value;
}
void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = to_valid_utf8(text);
}

// The members of a call site and of the whole heap.
Json figures_json(const TrendFigures& figures) {
  Json json = {{"judgement", to_valid_utf8(figures.judgement)}, {"readings", figures.readings}};
  put(json, "growth_share", figures.growth_share);
  put(json, "slope_bytes_per_second", figures.slope_bytes_per_second);
  put(json, "slope_low_bytes_per_second", figures.slope_low_bytes_per_second);
  put(json, "slope_high_bytes_per_second", figures.slope_high_bytes_per_second);
  put(json, "gained_bytes", figures.gained_bytes);
  json["first_live_bytes"] = figures.first_live_bytes;
  json["last_live_bytes"] = figures.last_live_bytes;
  json["first_held_bytes"] = figures.first_held_bytes;
  json["last_held_bytes"] = figures.last_held_bytes;
  return json;
}

Json site_json(const TrendSite& site) {
  Json frames = Json::array();
  for (const std::string& frame : site.frames) frames.push_back(to_valid_utf8(frame));
  Json json = figures_json(site.figures);
  put(json, "component", site.component);
  json["frames"] = std::move(frames);
  return json;
}

Json point_json(const IncidentTrend::Point& point) {
  Json json = {{"time", to_rfc3339(point.time)}, {"origin", to_valid_utf8(point.origin)}};
  if (point.gc_cycle) json["gc_cycle"] = *point.gc_cycle;
  json["complete"] = point.is_complete;
  json["is_baseline"] = point.is_baseline;
  json["live_bytes"] = point.live_bytes;
  json["held_bytes"] = point.held_bytes;
  put(json, "file", point.file);
  return json;
}

void read_figures(JsonReader& json, TrendFigures& figures) {
  json.read("judgement", figures.judgement);
  json.read("readings", figures.readings);
  json.read("growth_share", figures.growth_share);
  json.read("slope_bytes_per_second", figures.slope_bytes_per_second);
  json.read("slope_low_bytes_per_second", figures.slope_low_bytes_per_second);
  json.read("slope_high_bytes_per_second", figures.slope_high_bytes_per_second);
  json.read("gained_bytes", figures.gained_bytes);
  json.read("first_live_bytes", figures.first_live_bytes);
  json.read("last_live_bytes", figures.last_live_bytes);
  json.read("first_held_bytes", figures.first_held_bytes);
  json.read("last_held_bytes", figures.last_held_bytes);
}

void read_site(JsonReader json, TrendSite& site) {
  read_figures(json, site.figures);
  json.read("component", site.component);
  json.read("frames", site.frames);
  if (site.frames.size() > TrendJudged::kMaxFrames) json.refuse("frames", "an array of bounded size");
}

void read_point(JsonReader json, IncidentTrend::Point& point) {
  json.require("time", point.time);
  json.read("origin", point.origin);
  json.read("gc_cycle", point.gc_cycle);
  json.read("complete", point.is_complete);
  json.read("is_baseline", point.is_baseline);
  json.read("live_bytes", point.live_bytes);
  json.read("held_bytes", point.held_bytes);
  json.read("file", point.file);
  if (!is_plain_file_name(point.file)) json.refuse("file", "a plain file name");
}

}  // namespace

Json trend_json(const IncidentTrend& trend) {
  Json sites = Json::array(), points = Json::array();
  for (const TrendSite& site : trend.sites) sites.push_back(site_json(site));
  for (const IncidentTrend::Point& point : trend.points) points.push_back(point_json(point));
  Json json = {{"pid", trend.pid}, {"suspects", trend.suspects}};
  put(json, "span_seconds", trend.span_seconds);
  json["whole"] = figures_json(trend.whole);
  json["sites"] = std::move(sites);
  json["points"] = std::move(points);
  return json;
}

void read_trend(JsonReader json, IncidentTrend& trend) {
  json.require("pid", trend.pid);
  json.read("span_seconds", trend.span_seconds);
  json.read("suspects", trend.suspects);
  json.object("whole", [&](JsonReader whole) { read_figures(whole, trend.whole); });
  json.objects("sites", TrendJudged::kMaxSites, [&](JsonReader site) { read_site(site, trend.sites.emplace_back()); });
  json.objects("points", TrendJudged::kMaxPoints,
               [&](JsonReader point) { read_point(point, trend.points.emplace_back()); });
}

}  // namespace oomw
