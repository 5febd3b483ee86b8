// SPDX-License-Identifier: Apache-2.0
#include "store/ledger_file.h"

#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"
#include "events/json_fields.h"

namespace oomw {

namespace ledger_json {

struct Format {
  static constexpr bool kWritesNull = false;
  static constexpr bool kTimesAsText = false;
};

constexpr int kVersion = 1;

struct CountedKills {
  KillLabels labels;
  std::uint64_t count = 0;
  Nanoseconds unseen{};
};

void describe(auto& v, Of<CountedKills> auto& kills) {
  v("namespace", kills.labels.k8s_namespace);
  v("pod", kills.labels.pod);
  v("container", kills.labels.container, Presence::kRequired);
  v("scope", kills.labels.scope, Presence::kRequired);
  v("count", kills.count, Presence::kRequired);
  v("unseen_ns", kills.unseen);
}

void describe(auto& v, Of<HeardKill> auto& kill) {
  v("pid", kill.pid, Presence::kRequired);
  v("time_ns", kill.time, Presence::kRequired);
  v("written", kill.is_written);
}

void describe(auto& v, Of<HeardUntil> auto& heard) {
  v("until_ns", heard.until, Presence::kRequired);
  v("kills", heard.kills);
}

void describe_kills(auto& v, auto& ledger) {
  std::vector<CountedKills> kills;
  for (const auto& [labels, count] : ledger.counts()) kills.push_back({labels, count, ledger.unseen(labels)});
  std::uint64_t folded = ledger.folded(), retired = ledger.retired();
  std::vector<std::uint64_t> hidden = ledger.hidden();
  bool is_hidden_full = ledger.is_hidden_full();
  v("kills", kills);
  v("folded", folded);
  v("retired", retired);
  v("hidden", hidden);
  v("hidden_full", is_hidden_full);
  if constexpr (kReads<decltype(v)>) {
    for (const auto& [labels, count, unseen] : kills) ledger.restore(labels, count, unseen);
    ledger.restore_rest(folded, retired, hidden, is_hidden_full);
  }
}

// JSON keys are strings.
void describe_counted(auto& v, auto& counted) {
  std::map<std::string, std::uint64_t> by_text;
  for (const auto& [cgroup, count] : counted) by_text.emplace(std::to_string(cgroup), count);
  v("counted_by_cgroup", by_text);
  if constexpr (kReads<decltype(v)>) {
    for (const auto& [text, count] : by_text) {
      const auto cgroup = parse_u64(text);
      v.check(cgroup.has_value(), "counted_by_cgroup", "keyed by cgroup ids");
      counted[cgroup.value_or(0)] = count;
    }
  }
}

void describe(auto& v, Of<LedgerState> auto& state) {
  int version = kReads<decltype(v)> ? 0 : kVersion;
  v("version", version, Presence::kRequired);
  v.check(version == kVersion, "version", "one this version reads (1)");
  v("boot_id", state.boot_id, Presence::kRequired);
  describe_kills(v, state.ledger);
  describe_counted(v, state.counted_by_cgroup);
  v("heard", state.heard);
}

}  // namespace ledger_json

namespace {

constexpr std::size_t kMaxLedgerBytes = 8u << 20;  // 2 000 sets of four 255-byte names, 4 096 hashes, 20 000 cgroups

std::string ledger_path(const std::string& data_dir) { return data_dir + "/kills.json"; }

}  // namespace

Result<LedgerState> load_ledger(const std::string& data_dir) {
  const std::string path = ledger_path(data_dir);
  ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxLedgerBytes));
  auto state = from_json_text<ledger_json::Format, LedgerState>(text);
  if (!state) return tl::make_unexpected(std::move(state).error().with_context(path));
  return state;
}

Result<> save_ledger(const std::string& data_dir, const LedgerState& state) {
  RETURN_IF_ERROR(make_directories(data_dir, 0700));
  const auto json = JsonWriter<ledger_json::Format>::json_of(state);
  return write_file_atomic(ledger_path(data_dir), to_json_text(json, 1) + "\n");
}

}  // namespace oomw
