// SPDX-License-Identifier: Apache-2.0
#include "store/ledger_file.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "events/json_text.h"
#include "incident/json_reader.h"

namespace oomw {

namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMaxBytes = 8u << 20;  // 2 000 sets of four 255-byte names, 20 000 cgroups
constexpr std::size_t kMaxSets = KillLedger::kMaxSets + 16;

std::string path_in(const std::string& data_dir) { return data_dir + "/kills.json"; }

void read_kills(JsonReader json, KillLedger& ledger) {
  KillLabels labels;
  std::uint64_t count = 0;
  json.read("namespace", labels.k8s_namespace);
  json.read("pod", labels.pod);
  json.require("container", labels.container);
  json.require("scope", labels.scope);
  json.require("count", count);
  ledger.add(labels, count);
}

void read_counted(JsonReader& json, LedgerState& state) {
  std::map<std::string, std::uint64_t> counted;
  json.read("counted_by_cgroup", counted);
  for (const auto& [name, count] : counted) {
    const auto id = parse_u64(name);
    if (!id) return json.refuse("counted_by_cgroup", "keyed by cgroup ids");
    state.counted_by_cgroup[*id] = count;
  }
}

void read_heard(JsonReader json, LedgerState& state) {
  HeardUntil& heard = state.heard.emplace();
  json.require("until_ns", heard.until.ns);
  json.objects("kills", HeardKills::kMax, [&](JsonReader listed) {
    HeardKill& kill = heard.kills.emplace_back();
    listed.require("pid", kill.pid);
    listed.require("time_ns", kill.time.ns);
    listed.read("written", kill.is_written);
  });
}

nlohmann::ordered_json json_of(const HeardUntil& heard) {
  nlohmann::ordered_json kills = nlohmann::ordered_json::array();
  for (const HeardKill& kill : heard.kills) {
    kills.push_back({{"pid", kill.pid}, {"time_ns", kill.time.ns}, {"written", kill.is_written}});
  }
  return {{"until_ns", heard.until.ns}, {"kills", std::move(kills)}};
}

}  // namespace

Result<LedgerState> load_ledger(const std::string& data_dir) {
  const std::string path = path_in(data_dir);
  ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxBytes));
  auto json = parse_json_object(text);
  if (!json) return tl::make_unexpected(std::move(json).error().with_context(path));
  LedgerState state;
  std::optional<Error> error;
  JsonReader reader(*json, "", error);
  int version = 0;
  reader.require("version", version);
  if (version != kVersion) reader.refuse("version", "one this version reads (1)");
  reader.require("boot_id", state.boot_id);
  reader.objects("kills", kMaxSets, [&](JsonReader kills) { read_kills(kills, state.ledger); });
  read_counted(reader, state);
  reader.object("heard", [&](JsonReader heard) { read_heard(std::move(heard), state); });
  if (error) return tl::make_unexpected(std::move(*error).with_context(path));
  return state;
}

Result<> save_ledger(const std::string& data_dir, const LedgerState& state) {
  nlohmann::ordered_json kills = nlohmann::ordered_json::array();
  for (const auto& [labels, count] : state.ledger.counts()) {
    kills.push_back({{"namespace", to_valid_utf8(labels.k8s_namespace)},
                     {"pod", to_valid_utf8(labels.pod)},
                     {"container", to_valid_utf8(labels.container)},
                     {"scope", to_valid_utf8(labels.scope)},
                     {"count", count}});
  }
  nlohmann::ordered_json counted = nlohmann::ordered_json::object();
  for (const auto& [id, count] : state.counted_by_cgroup) counted[std::to_string(id)] = count;
  nlohmann::ordered_json json = {{"version", kVersion},
                                 {"boot_id", to_valid_utf8(state.boot_id)},
                                 {"kills", std::move(kills)},
                                 {"counted_by_cgroup", std::move(counted)}};
  if (state.heard) json["heard"] = json_of(*state.heard);
  RETURN_IF_ERROR(make_directories(data_dir, 0700));
  return write_file_atomic(path_in(data_dir), to_json_text(json, 1) + "\n");
}

}  // namespace oomw
