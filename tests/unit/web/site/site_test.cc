// SPDX-License-Identifier: Apache-2.0
#include "web/site/site.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "incident/incident.h"
#include "pprof/codec.h"
#include "store/incident_summary.h"
#include "support/http_client.h"
#include "unit/base/temporary_directory.h"
#include "web/site/assets.h"

namespace oomw {
namespace {

using testing::HasSubstr;
using testing::Not;

// Names that a workload or a pod's owner may choose.
constexpr const char* kPayloads[] = {"<script>alert(1)</script>",
                                     "\"><img src=x onerror=alert(1)>",
                                     "</title><svg onload=alert(1)>",
                                     "javascript:alert(1)",
                                     "\x1b]0;owned\x07",
                                     "\xe2\x80\xae"
                                     "evil",
                                     "a\r\nX-Injected: 1",
                                     "[x](javascript:alert(1))",
                                     "\xff\xfe"};

class SiteTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory / "incidents"); }

  // At 12:00:0N of one day.
  static Incident incident(int number, const std::string& name) {
    Incident made;
    made.id = "20261124T12000" + std::to_string(number) + "Z-0000000" + std::to_string(number);
    made.time = *parse_rfc3339("2026-11-24T12:00:0" + std::to_string(number) + "Z");
    made.cgroup_path = "/shop/web";
    made.container.pod_namespace = "shop";
    made.container.pod_name = name;
    made.container.name = "web";
    made.verdict = IncidentVerdict{"leak", 0.9, {}, {}, {}};
    made.answer = IncidentAnswer{"Killed: " + name, "leak", 0.9, {}, "do " + name};
    made.victims.emplace_back().comm = name;
    return made;
  }
  std::filesystem::path write(const Incident& made) {
    const auto place = directory / "incidents" / (made.id.substr(0, 16) + "-x-" + made.id.substr(17));
    std::filesystem::create_directories(place);
    std::ofstream(place / "incident.json") << to_json(made);
    std::ofstream(place / kSummaryFile) << to_summary_json(summary_of(made));
    return place;
  }
  void start() {
    auto listener = open_site_listener("127.0.0.1:0");
    ASSERT_TRUE(listener.has_value());
    auto started = start_site(std::move(*listener), {directory.string(), nullptr, {}});
    ASSERT_TRUE(started.has_value());
    server = std::move(*started);
  }
  [[nodiscard]] HttpAnswer get(const std::string& path, const std::string& method = "GET",
                               const std::string& host = "localhost") const {
    const std::string text = http_raw(server->port(), method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return {};
    return {std::atoi(text.c_str() + 9), text.substr(0, end + 2), text.substr(end + 4)};
  }
  [[nodiscard]] nlohmann::json json(const std::string& path) const {
    return nlohmann::json::parse(get(path).body, nullptr, false);
  }

  test::TemporaryDirectory temporary;
  std::filesystem::path directory = temporary.path();
  std::unique_ptr<HttpServer> server;
};

TEST_F(SiteTest, every_answer_has_the_headers_that_confine_it) {
  write(incident(1, "a"));
  start();
  for (const char* path :
       {"/", "/nothing", "/api/v1/incidents", "/assets/app.js", "/i/20261124T120001Z-00000001.tar.gz"}) {
    const std::string head = get(path).head;
    EXPECT_THAT(head, HasSubstr("Content-Security-Policy: default-src 'none'")) << path;
    EXPECT_THAT(head, HasSubstr("X-Content-Type-Options: nosniff\r\n")) << path;
    EXPECT_THAT(head, HasSubstr("Referrer-Policy: no-referrer\r\n")) << path;
    EXPECT_THAT(head, Not(HasSubstr("unsafe-inline"))) << path;
  }
}

TEST_F(SiteTest, another_sites_name_is_refused) {
  start();
  EXPECT_EQ(get("/", "GET", "evil.example").status, 403);
  EXPECT_EQ(get("/api/v1/incidents", "GET", "evil.example:9436").status, 403);
  EXPECT_EQ(get("/", "GET", "127.0.0.1:1").status, 200);
}

TEST_F(SiteTest, only_get_and_head) {
  start();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const HttpAnswer answer = get("/api/v1/incidents", method);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_THAT(answer.head, HasSubstr("Allow: GET, HEAD\r\n"));
  }
  const HttpAnswer head = get("/", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_THAT(head.head, Not(HasSubstr("Content-Length: 0\r\n")));
}

TEST_F(SiteTest, addresses_beyond_this_machine_are_refused) {
  for (const char* address : {":9436", "0.0.0.0:0", "10.0.0.1:0", "[::]:0"}) {
    const auto listener = open_site_listener(address);
    ASSERT_FALSE(listener.has_value()) << address;
    EXPECT_THAT(listener.error().message, HasSubstr("not a loopback address"));
  }
}

TEST_F(SiteTest, an_empty_directory_has_no_incidents) {
  start();
  const nlohmann::json answer = json("/api/v1/incidents");
  EXPECT_EQ(answer["total"], 0);
  EXPECT_EQ(answer["incidents"].size(), 0u);
}

TEST_F(SiteTest, incidents_are_listed_newest_first_and_filtered) {
  write(incident(1, "a"));
  write(incident(2, "b"));
  Incident other = incident(3, "b");
  other.verdict->cause = "spike";
  write(other);
  start();
  const nlohmann::json all = json("/api/v1/incidents");
  ASSERT_EQ(all["incidents"].size(), 3u);
  EXPECT_EQ(all["incidents"][0]["id"], other.id);
  EXPECT_EQ(all["causes"]["leak"], 2);
  EXPECT_EQ(json("/api/v1/incidents?cause=spike")["matched"], 1);
  EXPECT_EQ(json("/api/v1/incidents?pod=b")["matched"], 2);
  EXPECT_EQ(json("/api/v1/incidents?q=KILLED%3A+A")["matched"], 1);
  EXPECT_EQ(json("/api/v1/incidents?namespace=other")["matched"], 0);
  EXPECT_EQ(json("/api/v1/incidents?since=2026-11-24T12:00:02Z")["matched"], 2);
  EXPECT_EQ(json("/api/v1/incidents?limit=1")["incidents"].size(), 1u);
  EXPECT_EQ(get("/api/v1/incidents?limit=0").status, 400);
  EXPECT_EQ(get("/api/v1/incidents?since=yesterday").status, 400);
}

TEST_F(SiteTest, repeats_of_a_workload_are_one_row_when_grouped) {
  Incident first = incident(1, "a");
  first.repeats = RepeatedKills{4, first.time, first.time};
  write(first);
  write(incident(2, "a"));
  start();
  const nlohmann::json grouped = json("/api/v1/incidents?group=1");
  ASSERT_EQ(grouped["incidents"].size(), 1u);
  EXPECT_EQ(grouped["incidents"][0]["kills"], 6);
}

TEST_F(SiteTest, an_incident_that_is_written_anew_is_read_anew) {
  const auto place = write(incident(1, "a"));
  start();
  EXPECT_EQ(json("/api/v1/incidents")["incidents"][0]["cause"], "leak");
  Incident changed = incident(1, "a");
  changed.verdict->cause = "spike";
  write(changed);
  std::filesystem::last_write_time(place / "incident.json",
                                   std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(json("/api/v1/incidents")["incidents"][0]["cause"], "spike");
}

TEST_F(SiteTest, an_incident_comes_as_its_json_with_files_and_others) {
  const auto place = write(incident(1, "a"));
  write(incident(2, "a"));
  std::ofstream(place / "capture-01-live.pb.gz") << "profile";
  start();
  EXPECT_EQ(json("/api/v1/incidents/20261124T120001Z-00000001")["pod"]["name"], "a");
  const nlohmann::json context = json("/api/v1/incidents/20261124T120001Z-00000001/context");
  ASSERT_EQ(context["files"].size(), 3u);  // incident.json and summary.json, too
  EXPECT_EQ(context["files"][0]["name"], "capture-01-live.pb.gz");
  ASSERT_EQ(context["others"].size(), 1u);
  ASSERT_FALSE(context["next_steps"].empty());
  for (const nlohmann::json& step : context["next_steps"]) EXPECT_FALSE(step["what"].get<std::string>().empty());
  EXPECT_EQ(get("/api/v1/incidents/20261124T120009Z-00000001").status, 404);
}

TEST_F(SiteTest, what_lies_beside_an_incident_is_drawn_and_compared_with_what_is_of_its_kind) {
  const std::vector<std::vector<const char*>> files = {{"contents.pb.gz", "contents-before.pb.gz", "growth.pb.gz"},
                                                       {"contents.pb.gz"},
                                                       {"contents-before.pb.gz"},
                                                       {"growth.pb.gz"}};
  for (int i = 0; i < 4; ++i) {
    Incident made = incident(i, "a");
    made.growth.emplace().file = "growth.pb.gz";
    if (i < 3) made.analyses.emplace_back().files = {{"contents.pb.gz", ""}, {"contents-before.pb.gz", ""}};
    const auto place = write(made);
    for (const char* file : files[static_cast<std::size_t>(i)]) std::ofstream(place / file) << "profile";
  }
  start();
  std::vector<std::string> found;
  for (int i = 0; i < 4; ++i) {
    const auto context = json(fmt::format("/api/v1/incidents/20261124T12000{0}Z-0000000{0}/context", i));
    const nlohmann::json& drawn = context["profiles"];
    found.push_back(drawn["best"].get<std::string>() + "|" + drawn["before"].get<std::string>() + "|" +
                    drawn["growth"].get<std::string>() + "|");
    for (const auto& one : context["others"])
      found.back() += one["comparable"] ? one["id"].get<std::string>().back() : '-';
  }
  EXPECT_THAT(found, testing::ElementsAre("contents.pb.gz|contents-before.pb.gz|growth.pb.gz|--1",
                                          "contents.pb.gz|||--0", "|||---", "growth.pb.gz||growth.pb.gz|---"));
}

TEST_F(SiteTest, a_page_has_no_link_to_what_only_a_daemon_knows_where_there_is_none) {
  for (const bool has_daemon : {true, false}) {
    const HttpResponse page = asset_routes(has_daemon).front().handler(HttpRequest{});
    EXPECT_EQ(page.body->find("href=\"/now\"") != std::string::npos, has_daemon);
    EXPECT_THAT(*page.body, HasSubstr("<a href=\"/health\">Health</a></nav>"));
  }
  start();
  EXPECT_THAT(get("/").body, Not(HasSubstr("/now")));
}

TEST_F(SiteTest, a_copied_directory_of_one_incident_is_served) {
  const auto place = write(incident(1, "a"));
  directory = place;
  start();
  EXPECT_EQ(json("/api/v1/incidents")["total"], 1);
  EXPECT_EQ(get("/api/v1/incidents/20261124T120001Z-00000001").status, 200);
  server.reset();
  directory = place.parent_path().parent_path();
}

TEST_F(SiteTest, an_incident_is_text_of_one_screen_or_all_of_its_report) {
  std::ofstream(write(incident(1, "web-\x1b[2J")) / "report.md") << "# A \\*report\\*\n"
                                                                 << std::string(120, 'x') << " y\n";
  start();
  const std::string path = "/i/20261124T120001Z-00000001/text";
  const HttpAnswer brief = get(path + "?columns=60");
  EXPECT_THAT(brief.head, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(brief.head, HasSubstr("sandbox"));
  EXPECT_THAT(brief.body, HasSubstr("OOM kill in container web of pod shop/web-"));
  EXPECT_THAT(brief.body, HasSubstr("What to do: do web-"));
  EXPECT_THAT(brief.body, Not(HasSubstr("\x1b")));
  const auto lines_of = [&](const std::string& lines) {
    return std::ranges::count(get(path + "?columns=100&lines=" + lines).body, '\n');
  };
  EXPECT_LE(lines_of("1000"), 25);
  EXPECT_LE(lines_of("22"), 22);
  EXPECT_LE(lines_of("5"), 5);
  EXPECT_LT(lines_of("5"), lines_of("25"));
  EXPECT_THAT(get(path + "?full=1&columns=nonsense").body, HasSubstr("A *report*\n"));
  EXPECT_EQ(get("/i/20261124T120001Z-99999999/text").status, 404);
}

TEST_F(SiteTest, files_are_downloads_and_never_pages) {
  const auto place = write(incident(1, "a"));
  std::ofstream(place / "x.html") << "<script>alert(1)</script>";
  start();
  const HttpAnswer answer = get("/i/20261124T120001Z-00000001/files/x.html");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "<script>alert(1)</script>");
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/octet-stream\r\n"));
  EXPECT_THAT(answer.head, HasSubstr("Content-Disposition: attachment; filename=\"x.html\"\r\n"));
  EXPECT_THAT(answer.head, HasSubstr("sandbox"));
}

TEST_F(SiteTest, no_link_leads_out_of_an_incident) {
  const auto place = write(incident(1, "a"));
  std::ofstream(directory / "secret") << "secret";
  std::filesystem::create_symlink(directory / "secret", place / "link");
  start();
  for (const char* name : {"link", "..%2F..%2Fsecret", "..", "%2E%2E", "%2Fetc%2Fpasswd", "x%00y", "."}) {
    const HttpAnswer answer = get(std::string("/i/20261124T120001Z-00000001/files/") + name);
    EXPECT_GE(answer.status, 400) << name;
    EXPECT_THAT(answer.body, Not(HasSubstr("secret"))) << name;
  }
}

TEST_F(SiteTest, an_archive_unpacks_to_the_files) {
  const auto place = write(incident(1, "a"));
  std::ofstream(place / "big") << std::string(300'000, 'x');
  std::ofstream(place / "none");
  start();
  const HttpAnswer answer = get("/i/20261124T120001Z-00000001.tar.gz");
  EXPECT_EQ(answer.status, 200);
  const auto tar = directory / "got.tar.gz";
  std::ofstream(tar) << answer.body;
  ASSERT_EQ(std::system(("tar -xzf " + tar.string() + " -C " + directory.string()).c_str()), 0);
  const auto unpacked = directory / "20261124T120001Z-00000001";
  EXPECT_EQ(std::filesystem::file_size(unpacked / "big"), 300'000u);
  EXPECT_EQ(std::filesystem::file_size(unpacked / "none"), 0u);
  EXPECT_EQ(std::filesystem::file_size(unpacked / "incident.json"),
            std::filesystem::file_size(place / "incident.json"));
}

TEST_F(SiteTest, payloads_in_names_stay_data) {
  int number = 0;
  for (const char* payload : kPayloads) write(incident(number++, payload));
  start();
  const HttpAnswer list = get("/api/v1/incidents");
  EXPECT_EQ(list.status, 200);
  EXPECT_THAT(list.head, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(list.head, Not(HasSubstr("X-Injected")));
  EXPECT_EQ(nlohmann::json::parse(list.body)["total"], std::size(kPayloads));
  for (const char c : {'\x1b', '\x07', '\xff'}) EXPECT_EQ(list.body.find(c), std::string::npos);
  for (const char* payload : kPayloads) {
    const HttpAnswer page = get("/i/" + std::string(payload));
    EXPECT_THAT(page.body, Not(HasSubstr(payload))) << payload;  // the page never repeats what it was asked
  }
}

TEST_F(SiteTest, without_a_daemon_there_is_no_now_but_health) {
  start();
  EXPECT_EQ(get("/api/v1/now").status, 404);
  const nlohmann::json health = json("/api/v1/health");
  EXPECT_TRUE(health["daemon"].is_null());
  EXPECT_GT(health["space"]["total_bytes"], 0);
}

TEST_F(SiteTest, all_assets_together_are_small) {
  std::size_t bytes = 0;
  for (const Asset& asset : assets()) bytes += asset.gzip.size();
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, 100u << 10);
}

TEST_F(SiteTest, assets_are_packed_for_who_takes_it_and_plain_for_others) {
  start();
  const HttpAnswer plain = get("/assets/app.js");
  EXPECT_THAT(plain.head, HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(plain.head, Not(HasSubstr("Content-Encoding")));
  const std::string packed =
      http_raw(server->port(), "GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_EQ(*pprof::gunzip(packed.substr(packed.find("\r\n\r\n") + 4), 1u << 20), plain.body);
}

}  // namespace
}  // namespace oomw
