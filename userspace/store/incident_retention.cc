// SPDX-License-Identifier: Apache-2.0
#include "store/incident_retention.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "store/directory_names.h"
#include "store/incident_reader.h"

namespace oomw {

namespace {

// Another writer's pid may only seem alive because it was reused. No write of an incident takes an hour.
constexpr Nanoseconds kTemporaryAge = std::chrono::hours(1);

// People may edit files, which changes the size of a directory that was measured already.
constexpr Nanoseconds kIndexAge = std::chrono::hours(1);

// Without other news the state is saved this often, for the clock's sake.
constexpr Nanoseconds kSaveEvery = std::chrono::minutes(10);

constexpr std::size_t kMaxNamed = 5;         // workloads in one line of the log
constexpr std::size_t kMaxUnlogged = 1'000;  // workloads; the others are in the sum

bool drop(const std::string& root, const std::string& name) {
  const std::string doomed = root + "/" + temporary_name(id_of_directory(name), ::getpid());
  if (::rename((root + "/" + name).c_str(), doomed.c_str()) != 0) return false;
  if (const Result<> removed = remove_flat_directory(doomed); !removed) {
    log::warn("dropping incident {}: {}", printable(name), printable(removed.error().message));
  }
  return true;
}

// Left by a writer that died. One with our own pid is a leftover too: the store's lock is held, so that nobody makes
// one now, and in a container the daemon is pid 1 every time.
bool is_leftover(const std::string& path, int pid, WallTime now, bool is_age_held) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH)) return true;
  return !is_age_held && now.ns / 1'000'000'000 - status.st_mtime > kTemporaryAge / std::chrono::seconds(1);
}

// "9 of shop/cart/web, 2 of shop/db/db, 4 of 3 others"
std::string most_of(const std::map<std::string, std::size_t>& dropped) {
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [workload, count] : dropped) order.emplace_back(count, workload);
  std::ranges::sort(order, std::greater());
  std::string text;
  std::size_t others = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i >= kMaxNamed) {
      others += order[i].first;
    } else {
      text += fmt::format("{}{} of {}", i == 0 ? "" : ", ", order[i].first, printable(order[i].second, 128));
    }
  }
  if (others != 0) text += fmt::format(", {} of {} others", others, order.size() - kMaxNamed);
  return text;
}

}  // namespace

std::size_t Pruned::dropped() const {
  std::size_t sum = 0;
  for (const auto& [reason, count] : incidents) sum += count;
  return sum;
}

Result<Pruned> IncidentRetention::prune(IncidentIndex& index, const Retention& retention, const ClockReading& now,
                                        const IsHeld& is_held) {
  if (!is_loaded_) load(index);
  if (!sizes_measured_) sizes_measured_ = now.wall;
  if (now.wall.ns - sizes_measured_->ns > kIndexAge.count()) {
    index.forget();
    sizes_measured_ = now.wall;
  }
  if (Result<> refreshed = index.refresh(); !refreshed) {
    if (refreshed.error().code == ErrorCode::kNotFound) return Pruned{};
    return tl::make_unexpected(std::move(refreshed).error());
  }
  Pruned pruned;
  read_facts(index);
  judge_clock(index, now, pruned);
  drop_incidents(index, retention, now, is_held, pruned);
  pruned.leftovers = drop_leftovers(index, now, pruned.is_age_held);
  if (saved_facts_version_ != index.facts_version() || pruned.clock_jumps != 0 ||
      Nanoseconds(std::abs(now.wall.ns - saved_at_.ns)) > kSaveEvery) {
    save(index, now.wall);
  }
  log_dropped(now);
  return pruned;
}

// A state that cannot be read is made again: facts from the incidents, and the clock must prove itself.
void IncidentRetention::load(IncidentIndex& index) {
  is_loaded_ = true;
  Result<RetentionState> loaded = load_retention(data_dir_);
  if (!loaded) {
    if (loaded.error().code == ErrorCode::kNotFound) return;
    return log::warn("retention starts anew: {}", printable(loaded.error().message));
  }
  state_ = std::move(*loaded);
  clock_ = ClockSteadiness(state_.clock);
  index.restore(std::exchange(state_.incidents, {}));
}

void IncidentRetention::save(const IncidentIndex& index, WallTime now) {
  state_.clock = clock_.state();
  state_.incidents = index.known_facts();
  const Result<> saved = save_retention(data_dir_, state_);
  state_.incidents.clear();
  if (!saved) return log::debug("retention: {}", printable(saved.error().message));  // the writer reports a full disk
  saved_facts_version_ = index.facts_version();
  saved_at_ = now;
}

// One that cannot be read has no workload, so that it is the first to go.
void IncidentRetention::read_facts(IncidentIndex& index) const {
  for (const std::string& name : index.without_facts(kMaxReads)) {
    const Result<Incident> incident = read_incident(root_ + "/" + name);
    index.set_facts(name, incident ? facts_of(*incident) : IncidentFacts{"", "", 0, *time_of_directory(name)});
  }
}

void IncidentRetention::judge_clock(const IncidentIndex& index, const ClockReading& now, Pruned& pruned) {
  if (now.boot_id.empty()) return;
  std::optional<Nanoseconds> jump;
  const auto observe = [&](const ClockReading& reading) {
    pruned.is_age_held = !clock_.observe(reading, index.newest_found());
    if (clock_.new_jump()) jump = clock_.new_jump();
  };
  if (const auto start = std::exchange(start_, std::nullopt)) observe(*start);
  observe(now);
  if (jump) {
    pruned.clock_jumps = 1;
    log::warn(
        "the wall clock is {:.0f} s off what was expected: no incident is dropped for its age until the clock has "
        "been steady for {} hours",
        to_seconds(*jump), ClockSteadiness::kSteady / std::chrono::hours(1));
  }
}

void IncidentRetention::drop_incidents(IncidentIndex& index, const Retention& retention, const ClockReading& now,
                                       const IsHeld& is_held, Pruned& pruned) {
  if (!index.without_facts(1).empty()) {
    pruned.is_more = true;
    return;
  }
  std::vector<KeptIncident> incidents = index.incidents();
  if (is_held) std::erase_if(incidents, [&](const KeptIncident& incident) { return is_held(incident.name); });
  const auto believed = pruned.is_age_held ? std::nullopt : std::optional(now.wall);
  const std::vector<Loss> losses = choose_losses(incidents, retention, believed, kMaxLosses);
  pruned.is_more = losses.size() == kMaxLosses;
  for (const Loss& loss : losses) {
    const KeptIncident& incident = incidents[loss.index];
    index.erase(incident.name);
    // Gone already, or no longer an incident of ours.
    if (!index.measure(incident.name) || !drop(root_, incident.name)) continue;
    ++pruned.incidents[loss.reason];
    state_.add_dropped(incident.facts);
    if (unlogged_.size() < kMaxUnlogged) ++unlogged_[incident.facts.workload];
  }
}

std::size_t IncidentRetention::drop_leftovers(const IncidentIndex& index, const ClockReading& now,
                                              bool is_age_held) const {
  std::size_t dropped = 0;
  for (const std::string& name : index.temporaries()) {
    const auto pid = pid_of_temporary(name);
    if (!pid || !is_leftover(root_ + "/" + name, *pid, now.wall, is_age_held)) continue;
    dropped += remove_flat_directory(root_ + "/" + name).has_value() ? 1 : 0;
  }
  return dropped;
}

void IncidentRetention::log_dropped(const ClockReading& now) {
  if (unlogged_.empty() || !log_limit_.take(MonotonicTime{now.since_boot.count()})) return;
  log::info("retention dropped incidents: {}", most_of(unlogged_));
  unlogged_.clear();
}

}  // namespace oomw
