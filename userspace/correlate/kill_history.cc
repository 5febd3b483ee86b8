// SPDX-License-Identifier: Apache-2.0
#include "correlate/kill_history.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxName = 160;  // as lists keep it (store/incident_summary.cc)

std::string bounded(std::string_view text) { return to_valid_utf8(text.substr(0, kMaxName)); }

}  // namespace

void KillHistory::make_room() {
  if (workloads_.size() < kMaxWorkloads) return;
  const auto oldest =
      std::ranges::min_element(workloads_, {}, [](const auto& entry) { return entry.second.back().time; });
  workloads_.erase(oldest);
}

void KillHistory::add(const std::string& workload, EarlierKill kill) {
  const std::string key = bounded(workload);
  if (key.empty() || key == "/") return;  // whose it was is not known
  if (!workloads_.contains(key)) make_room();
  Kills& kills = workloads_[key];
  if (const auto known = std::ranges::find(kills, kill.id, &EarlierKill::id); known != kills.end()) {
    kill.kills = known->kills;
    *known = std::move(kill);
    return;
  }
  const auto later = std::ranges::find_if(kills, [&](const EarlierKill& other) { return other.time > kill.time; });
  kill.kills = later != kills.end() ? later->kills : kills.empty() ? 1 : kills.back().kills + 1;
  std::for_each(later, kills.end(), [](EarlierKill& other) { ++other.kills; });
  kills.insert(later, std::move(kill));
  if (kills.size() > kKept) kills.pop_front();
}

std::optional<EarlierKill> KillHistory::before(const std::string& workload, const std::string& id,
                                               WallTime time) const {
  const auto found = workloads_.find(bounded(workload));
  if (found == workloads_.end()) return std::nullopt;
  const Kills& kills = found->second;
  const auto last = std::find_if(kills.rbegin(), kills.rend(),
                                 [&](const EarlierKill& kill) { return kill.id != id && kill.time < time; });
  return last == kills.rend() ? std::nullopt : std::optional(*last);
}

EarlierKill remembered(const Incident& incident) {
  EarlierKill kill;
  kill.id = incident.id;
  kill.time = incident.time;
  if (incident.verdict) kill.cause = incident.verdict->cause;
  if (!incident.answer || !incident.answer->culprit) return kill;
  kill.claim = incident.answer->culprit->claim;
  kill.code = bounded(incident.answer->culprit->code);
  kill.operation = bounded(incident.answer->culprit->operation);
  return kill;
}

}  // namespace oomw
