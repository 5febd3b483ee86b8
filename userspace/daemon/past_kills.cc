// SPDX-License-Identifier: Apache-2.0
#include "daemon/past_kills.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "system/container_path.h"

namespace oomw {
namespace {

// For a kill that this run should have seen: its report and the log's stamp are milliseconds apart.
constexpr Nanoseconds kOwnSlack = std::chrono::seconds(1);
// Between two lines of one group kill: see FileEvents.
constexpr Nanoseconds kGroupGap = std::chrono::seconds(1);
constexpr std::size_t kMaxPath = 4'096;
constexpr std::size_t kMaxDepth = 64;

// Further victims of a group are logged right after the first, without a place of their own.
bool is_further(const KmsgKill& kill, const PastKill* before, MonotonicTime time) {
  if (!kill.group || before == nullptr || time - before->time > kGroupGap) return false;
  return before->home.empty() || is_at_or_below(before->home, *kill.group);
}

PastKill past_kill_of(const LoggedKill& logged, MonotonicTime time, const PastKill* before) {
  PastKill kill;
  kill.time = kill.decision = time;
  kill.logged = logged;
  if (logged.kill.constraint) kill.home = logged.kill.constraint->task_memcg;
  kill.is_further = is_further(logged.kill, before, time);
  if (kill.is_further) {
    kill.decision = before->decision;
    kill.home = *logged.kill.group;  // or a cgroup below it, which is not logged
  }
  return kill;
}

// FNV-1a: the same path always gives the same id.
std::uint64_t hash_of(const std::string& path) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// Names cgroups as the sampler does: one inside a container gets no identity of its own.
std::optional<ContainerIdentity> own_identity(const std::string& path) {
  auto identity = identity_from_path(path);
  if (identity && identity == identity_from_path(parent_path(path))) return std::nullopt;
  return identity;
}

}  // namespace

std::vector<PastKill> past_kills_of(const KmsgBacklog& backlog, const PastWindow& window) {
  std::vector<PastKill> kills;
  std::optional<PastKill> before;
  for (const LoggedKill& logged : backlog.kills) {
    const MonotonicTime time = MonotonicTime{} + (logged.stamp - window.log_ahead);
    PastKill kill = past_kill_of(logged, time, before ? &*before : nullptr);
    before = kill;
    const Nanoseconds slack = slack_of(time, window.measured_at);
    const KillStanding standing = standing_of(logged.kill.process, time, window.heard, slack);
    const bool is_own = time > window.watching_since + kOwnSlack;
    if (standing == KillStanding::kDone || is_own) continue;
    kill.is_counted = standing == KillStanding::kCounted;
    kills.push_back(std::move(kill));
  }
  return kills;
}

PastEventMaker::PastEventMaker(const PastWindow& window, IdOf id_of, MissingIn missing_in, MonotonicTime now)
    : window_(window), id_of_(std::move(id_of)), missing_in_(std::move(missing_in)), now_(now) {}

PastEvents PastEventMaker::make(std::vector<PastKill> kills) {
  place_victims(kills);
  for (std::size_t i = 0; i < kills.size(); ++i) {
    OomKill event = event_of(kills[i], homes_[i]);
    if (!event.victim_cgroup && !kills[i].is_counted) {
      result_.unplaced.push_back(std::move(event));
      continue;
    }
    result_.events.push_back(std::move(event));
    result_.kills.push_back(std::move(kills[i]));
  }
  return std::move(result_);
}

// Newest first: kills that the living cgroup's count does not explain were in an earlier cgroup of the same path. A
// kill that was counted is no longer missing in that count, and is attributed to the living cgroup.
void PastEventMaker::place_victims(std::vector<PastKill>& kills) {
  homes_.assign(kills.size(), {});
  for (std::size_t i = kills.size(); i-- > 0;) {
    if (kills[i].home.empty() && kills[i].stored != nullptr) kills[i].home = kills[i].stored->home;
    if (!kills[i].home.empty()) place_victim(kills[i], homes_[i]);
  }
}

void PastEventMaker::place_victim(PastKill& kill, CgroupId& home) {
  home = place_of(kill.home);
  const bool is_missing = home && !kill.is_counted && take_missing(home);
  const bool is_nameless = kill.stored != nullptr && kill.stored->pid == 0;
  if (is_nameless && !is_missing && (home || kill.time < window_.heard.until)) kill.is_counted = true;
  if (!is_missing && !kill.is_counted) home = {};
  if (!home) home = gone_place_of(kill.home, kill.time);
}

// Whether the living cgroup's count has room for one more of its kills; true if the count was not read.
bool PastEventMaker::take_missing(CgroupId cgroup) {
  auto [left, is_first] = missing_.try_emplace(cgroup);
  if (is_first) left->second = missing_in_(cgroup);
  if (!left->second) return true;
  return *left->second > 0 && (*left->second)-- > 0;
}

OomKill PastEventMaker::event_of(const PastKill& kill, CgroupId home) {
  const KmsgKilled& killed = kill.logged.kill.killed;
  OomKill event;
  event.time = kill.time;
  event.source = "kmsg";
  event.victim = {kill.logged.kill.process, 0};
  event.victim_cgroup = home;
  event.victim_comm = killed.comm;
  event.victim_uid = killed.uid;
  event.victim_oom_score_adj = killed.oom_score_adj;
  event.victim_rss = RssSplit{killed.anon_bytes, killed.file_bytes, killed.shmem_bytes, killed.pgtables_bytes};
  event.decision = kill.decision;
  event.unwatched = Unwatched{window_.heard.until, std::max(window_.watching_since, kill.time)};
  set_owner(kill, event);
  return event;
}

void PastEventMaker::set_owner(const PastKill& kill, OomKill& event) {
  const KmsgKill& logged = kill.logged.kill;
  const auto living_or_gone = [&](const std::string& path) {
    const CgroupId id = place_of(path);
    return id ? id : gone_place_of(path, kill.time);
  };
  if (kill.is_further) event.group = event.victim_cgroup;
  std::optional<std::string> owner = logged.group_owner;
  if (logged.constraint) owner = logged.constraint->oom_memcg;
  if (!logged.killed.memcg) {
    event.owner_known = event.owner_exact = event.is_node_wide_said = true;
  } else if (owner && !owner->empty()) {
    // The victim's own cgroup is the one that it was killed in, not one that has its path now.
    event.owner_cgroup = *owner == kill.home ? event.victim_cgroup : living_or_gone(*owner);
    event.owner_known = event.owner_exact = true;
  }
  if (kill.logged.memory) {
    event.owner_limit_bytes = kill.logged.memory->limit_bytes;
    event.owner_usage_bytes = kill.logged.memory->usage_bytes;
  }
}

CgroupId PastEventMaker::place_of(const std::string& path) {
  return path.empty() || path.size() > kMaxPath ? CgroupId{} : id_of_(path);
}

// Parents first, at most kMaxDepth of them: above that a cgroup has no known parent.
CgroupId PastEventMaker::gone_place_of(const std::string& path, MonotonicTime time) {
  const CgroupId id{kGone | hash_of(path)};
  if (!made_.insert(path).second) return id;
  CgroupId parent;
  const std::size_t depth = static_cast<std::size_t>(std::ranges::count(path, '/'));
  if (path != "/" && depth <= kMaxDepth && path.starts_with('/')) {
    parent = place_of(parent_path(path));
    if (!parent) parent = gone_place_of(parent_path(path), time);
  }
  result_.places.push_back(CgroupCreated{time, id, parent, path, true, true});
  if (auto identity = own_identity(path)) {
    result_.places.push_back(ContainerIdentified{time, id, std::move(*identity), false});
  }
  result_.places_gone.push_back(CgroupRemoved{now_, id});
  return id;
}

}  // namespace oomw
