// SPDX-License-Identifier: Apache-2.0
// An incident whose every text is hostile, made from the schema of incident.json, so that a new member is in it by
// itself: none of it becomes markup in the report or steers a terminal.
#include <algorithm>
#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "cli/read/event_line.h"
#include "cli/read/incident_rows.h"
#include "incident/incident.h"
#include "report/brief_view.h"
#include "report/markdown_view.h"
#include "report/timeline_svg.h"
#include "store/incident_reader.h"
#include "store/incident_summary.h"
#include "support/source_tree.h"

namespace oomw::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr std::array<const char*, 12> kPayloads = {"<img src=x onerror=owned()>",
                                                   "</title><script>owned()</script>",
                                                   "[a](javascript:owned())",
                                                   "![p](http://elsewhere.invalid/p.png)",
                                                   "x\r\n# Heading",
                                                   "x\n\n    indented\n",
                                                   "```\n<b>",
                                                   "**b** `c` a|b\\|c ~~d~~",
                                                   "\x1b[31mred\x1b]0;owned\x07",
                                                   "\xc2\x9b"
                                                   "32mgreen\xc2\x85next",
                                                   "\xe2\x80\xaegnp.exe\xe2\x80\xa8next",
                                                   "<!-- <svg onload=owned()>"};

// A reader refuses an incident with another id, or with a file that is not in its directory.
std::string text_for(const std::string& name, std::string payload) {
  if (name == "id") return "20261121T030405Z-1a2b3c4d";
  if (name == "file" || name == "files.name") std::erase(payload, '/');
  return payload;
}

bool is_type(const Json& schema, const std::string& type) {
  const Json& types = schema.at("type");
  return types == type || (types.is_array() && std::ranges::count(types, Json(type)) > 0);
}

// A document with all that `schema` has.
Json filled(const Json& schema, const std::string& payload, const std::string& name = "") {
  if (schema.contains("const")) return schema["const"];
  if (is_type(schema, "array")) return Json::array({filled(schema["items"], payload, name)});
  if (is_type(schema, "string")) {
    return schema.contains("format") ? Json("2026-11-21T03:04:05.123456789Z") : Json(text_for(name, payload));
  }
  if (is_type(schema, "boolean")) return true;
  if (is_type(schema, "integer")) return 3;
  if (is_type(schema, "number")) return 0.75;
  Json object = Json::object();
  const Json members = schema.value("properties", Json::object());
  for (const auto& [member, its_schema] : members.items()) {
    object[member] = filled(its_schema, payload, name == "files" ? "files." + member : member);
  }
  if (schema.contains("additionalProperties")) object[payload] = filled(schema["additionalProperties"], payload);
  return object;
}

StoredIncident hostile(const std::string& payload) {
  const std::string schema = read_file(test::source_tree() + "/docs/incident.schema.json", 1u << 20).value();
  const auto incident = incident_from_json(filled(Json::parse(schema), payload).dump());
  EXPECT_TRUE(incident.has_value()) << incident.error().message;
  return {"/data/incidents/x", incident.value_or(Incident{})};
}

bool is_steering(std::string_view text) {
  const bool has_control =
      std::ranges::any_of(text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  return has_control || has("\xc2\x9b") || has("\xc2\x85") || has("\xe2\x80\xae") || has("\xe2\x80\xa8");
}

// Without what an escape makes harmless, "\<" and "\[".
std::string without_escapes(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else {
      out += line[i];
    }
  }
  return out;
}

// A block of code begins after an empty line and has nothing to escape.
void expect_no_markup(const std::string& markdown, const std::string& payload) {
  std::ptrdiff_t columns = 0;  // of the table that the line before belongs to
  for (const std::string_view line : split(markdown, '\n')) {
    EXPECT_NE(line, "    indented") << payload;
    if (line.starts_with("    ")) continue;
    const std::string bare = without_escapes(line);
    for (const char* mark : {"<img", "<script", "</title", "<svg", "<b>", "<!--", "](javascript", "](http", "```"}) {
      EXPECT_THAT(bare, Not(HasSubstr(mark))) << payload;
    }
    EXPECT_FALSE(line.starts_with("# Heading")) << payload;
    const std::ptrdiff_t bars = line.starts_with("|") ? std::ranges::count(bare, '|') : 0;
    if (columns > 0 && bars > 0) {
      EXPECT_EQ(bars, columns) << line;
    }
    columns = bars;
  }
}

TEST(HostileIncident, nothing_in_it_is_markup_in_the_report) {
  for (const char* payload : kPayloads) {
    const StoredIncident stored = hostile(payload);
    const std::string report = to_markdown(stored.incident, {});
    EXPECT_GT(report.size(), 4'000u) << "all of its sections";
    EXPECT_FALSE(is_steering(report)) << payload;
    expect_no_markup(report, payload);
  }
}

TEST(HostileIncident, nothing_in_it_steers_a_terminal_or_makes_a_line_of_its_own) {
  for (const char* payload : kPayloads) {
    const StoredIncident stored = hostile(payload);
    const WallTime now = stored.incident.time;
    const TerminalView view{80, false};
    const std::string tail = where_the_rest_is(payload, payload, view);
    const std::string brief = brief_text(stored.incident, tail, now, view);
    for (const std::string& text : {brief, for_terminal(to_markdown(stored.incident, {}), {80, false}),
                                    incident_rows({summary_of(stored.incident)}, {.view = {120, false}, .now = now}),
                                    incident_line(stored.incident, stored.directory)}) {
      EXPECT_FALSE(is_steering(text)) << text;
      EXPECT_THAT(text, Not(HasSubstr("\n# Heading"))) << payload;
    }
    EXPECT_LE(std::ranges::count(brief, '\n'), static_cast<std::ptrdiff_t>(kBriefLines)) << brief;
    EXPECT_THAT(incident_line(stored.incident, stored.directory), Not(HasSubstr("\n")));
  }
}

TEST(HostileIncident, nothing_in_it_is_markup_in_the_timeline) {
  for (const char* payload : kPayloads) {
    Incident incident = hostile(payload).incident;
    while (incident.series.size() < 4) {
      incident.series.push_back(incident.series.back());
      incident.series.back().time.ns += 1'000'000;
    }
    incident.time = incident.series.back().time;
    const std::string picture = timeline_svg(incident);
    ASSERT_NE(picture, "");
    for (const char* mark : {"<img", "<script", "</title><", "<!--", "onload=owned()>\"", "<svg onload", "<b>"}) {
      EXPECT_THAT(picture, Not(HasSubstr(mark))) << payload;
    }
    EXPECT_FALSE(is_steering(picture)) << payload;
  }
}

}  // namespace
}  // namespace oomw::cli
