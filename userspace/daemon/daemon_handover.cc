// SPDX-License-Identifier: Apache-2.0
// Which daemon has the data directory, and the kills from before this run had it.
#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "daemon/boot.h"
#include "daemon/daemon_impl.h"

namespace oomw {
namespace {

constexpr std::uint64_t kMaxRecordingBytes = 1ull << 30;
constexpr Nanoseconds kLockPoll = std::chrono::milliseconds(100);
// By then the counts read at the start are certain, and so are kills in the ring.
constexpr Nanoseconds kPastGrace = KillAccounting::kGrace + std::chrono::milliseconds(100);
// The names of containers that are gone come from the API alone.
constexpr Nanoseconds kPodsWait = std::chrono::seconds(5);
constexpr Nanoseconds kPastPoll = std::chrono::milliseconds(100);
// Kills per batch: incidents are built from the model's current state, and those of one place beyond
// CorrelatorConfig::max_open_per_place are merged.
constexpr std::size_t kPastBatch = 16;

}  // namespace

// Kills are counted even if the data dir cannot be written: evidence waits in memory.
Result<> Daemon::Impl::open_data_dir() {
  const Result<> made = make_directories(config.data_dir, 0700);
  if (!made.has_value()) {
    log::error("data dir: {}; counting on, evidence stays in memory", made.error().message);
  }
  boot_id = read_boot_id(config.proc_root);
  pipeline = std::make_unique<Pipeline>(config.triggers, config.correlator, Pipeline::StandBy{});
  lock.emplace(config.data_dir);
  ASSIGN_OR_RETURN(const bool is_ours, take_data_dir(made.has_value()));
  spool = std::make_unique<Spool>(config.data_dir + "/spool", config.spool,
                                  is_ours ? Spool::Start::kOnDisk : Spool::Start::kInMemory);
  if (is_ours) restore();
  if (!options.record_path.empty()) {
    ASSIGN_OR_RETURN(recorder, Recorder::make(options.record_path, kMaxRecordingBytes, wall_offset_ns(clock)));
  }
  return {};
}

Result<bool> Daemon::Impl::take_data_dir(bool is_there) {
  const Result<bool> taken = lock->try_take();
  if (!taken.has_value()) {
    if (is_there) log::warn("data dir: not locked: {}", taken.error().message);
    return true;
  }
  if (*taken) return true;
  const std::string who = fmt::format("another oomwitness (pid {}) has {}", lock->holder(), config.data_dir);
  if (!options.standby) {
    return fail(ErrorCode::kUnavailable, who +
                                             ": end it first, or give this one another --data-dir, or --standby "
                                             "to take over when it ends");
  }
  log::info("{}: standing by", who);
  return false;
}

void Daemon::Impl::restore() {
  std::optional<LedgerState> restored = restore_ledger(config.data_dir, boot_id, clock.wall_now());
  const MonotonicTime now = clock.now();
  if (restored) {
    // A ledger of an older version has no time, and without a boot's id it may be of another boot: the log's kills
    // cannot be matched with it.
    earlier = restored->heard && !boot_id.empty() ? *restored->heard : HeardUntil{now, {}};
  }
  held = pipeline->take_over(std::move(restored), now);
}

void Daemon::Impl::wait_for_data_dir() {
  (void)loop->add_once(kLockPoll, [this] {
    const Result<bool> taken = lock->try_take();
    if (taken.has_value() && !*taken) return wait_for_data_dir();
    log::info("{} is free: taking over", config.data_dir);
    restore();
    spool->use_disk();
    start_writer();
    begin_past();
    publisher->request();
  });
}

// From here on the ledger shows that this run existed and since when, even if it ends hard.
void Daemon::Impl::begin_past() {
  past_begun = clock.now();
  if (!earlier) {  // the first run: kills before it are not ours
    for (const OomKill& kill : std::exchange(held, {})) take_known(kill, {});
    is_past_settled = true;
    listen();
    return save_ledger();
  }
  PastRequest request{"/dev/kmsg", config.data_dir, *earlier, watching_since, std::exchange(held, {})};
  const auto read = [this, request = std::move(request)]() mutable {
    const auto reading = std::make_shared<const PastReading>(read_past(std::move(request), clock));
    constexpr int kTries = 1'000;
    const auto settle_it = [this, reading] { settle_past_when_ready(reading); };
    for (int tries = 0; tries < kTries && !loop->post(settle_it); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  if (!writer_worker->post(read)) log::error("what happened before this run is not read: the writer's queue is full");
  save_ledger();
}

void Daemon::Impl::settle_past_when_ready(const std::shared_ptr<const PastReading>& reading) {
  const MonotonicTime now = clock.now();
  const bool has_names = !pods || pipeline->model().pods().is_told() || now >= past_begun + kPodsWait;
  if (now >= past_begun + kPastGrace && has_names) return settle_past(*reading);
  (void)loop->add_once(kPastPoll, [this, reading] { settle_past_when_ready(reading); });
}

void Daemon::Impl::settle_past(const PastReading& reading) {
  listen();
  for (const IncidentSummary& summary : reading.incidents) {
    pipeline->remember_incident(
        summary.workload, {0, summary.id, summary.time, summary.cause, summary.claim, summary.code, summary.operation});
  }
  lost_past = reading.lost;
  if (!reading.problem.empty()) {
    log::warn("kernel log: {}: of kills before that, while no daemon ran, only the counts of living cgroups tell",
              reading.problem);
  }
  std::vector<StoredVictim> stored = reading.stored;
  for (std::size_t i = 0; i < reading.held.size(); ++i) {
    const OomKill& kill = reading.held[i];
    const bool is_written = find_stored(kill.victim.pid, clock.wall_of(kill.time), "", stored) != nullptr;
    take_known(kill, {reading.is_held_counted[i], is_written});
  }
  take_past_kills(reading, stored);
  is_past_settled = true;
  listen();
  pipeline->tick(clock.now());  // kills that only the counts show
  queue.run_and_settle();
  save_ledger();
}

void Daemon::Impl::take_past_kills(const PastReading& reading, std::vector<StoredVictim>& victims) {
  PastEventMaker maker(
      reading.window, [this](const std::string& path) { return cgroups->id_of(path).value_or(CgroupId{}); },
      [this](CgroupId id) { return pipeline->missing_in(id); }, clock.now());
  std::vector<PastKill> kills = reading.kills;
  for (PastKill& kill : kills) {
    kill.stored = find_stored(kill.logged.kill.process, clock.wall_of(kill.time), kill.home, victims);
  }
  PastEvents past = maker.make(std::move(kills));
  for (const Event& place : past.places) take_quietly(place);
  for (std::size_t i = 0; i < past.events.size(); ++i) {
    const OomKill& kill = past.events[i];
    const StoredVictim* stored = past.kills[i].stored;
    if (stored != nullptr && !past.kills[i].is_counted) name_as_stored(kill.victim_cgroup, *stored);
    take_known(kill, {past.kills[i].is_counted, stored != nullptr});
    if (i % kPastBatch == kPastBatch - 1) write_ready_incidents();
  }
  write_ready_incidents();
  take_unplaced(std::move(past.unplaced));
  for (const Event& place : past.places_gone) take_quietly(place);
  if (!past.events.empty()) {
    log::info("kernel log: {} kills while no daemon watched", past.events.size() + past.unplaced.size());
  }
}

// A daemon that ends between an incident and the ledger leaves a kill to be counted. Where its container is gone, only
// the incident still has the names.
void Daemon::Impl::name_as_stored(CgroupId victim, const StoredVictim& stored) {
  const MemoryModel& model = pipeline->model();
  const CgroupState* state = model.container_of(victim);
  if (state == nullptr || state->path != stored.cgroup_path || !state->identity.pod_name.empty()) return;
  take_quietly(ContainerIdentified{clock.now(), state->id, stored.container, false});
}

// UnplacedKills::kMax of them wait for a count that no other kill explains. Of those beyond, as many are skipped as
// the counts will show without a name; the others were in cgroups that are gone.
void Daemon::Impl::take_unplaced(std::vector<OomKill> kills) {
  const std::uint64_t missing = pipeline->missing_kills();
  const std::size_t beyond = kills.size() - std::min(kills.size(), UnplacedKills::kMax);
  const std::uint64_t counted = missing - std::min<std::uint64_t>(missing, UnplacedKills::kMax);
  const std::size_t skipped = static_cast<std::size_t>(std::min<std::uint64_t>(beyond, counted));
  for (std::size_t i = skipped; i < kills.size(); ++i) take_known(kills[i], {});
}

void Daemon::Impl::take_known(const OomKill& kill, KillBefore before) {
  if (recorder) recorder->write(kill);
  pipeline->apply(kill, before);
  if (options.on_event && !(before.is_counted && before.is_written)) options.on_event(kill, place_of);
}

// For cgroups that are gone: no other part could read anything of them.
void Daemon::Impl::take_quietly(const Event& event) {
  if (recorder) recorder->write(event);
  pipeline->apply(event);
}

// Until the past is settled the earlier time is kept, so that the next run reads the past if this one ends before.
HeardUntil Daemon::Impl::heard_until() const {
  const bool is_pending = earlier && !is_past_settled;
  const MonotonicTime until = is_pending ? earlier->until : std::max(heard_at, watching_since);
  return {until, pipeline->recent_kills(until)};
}

}  // namespace oomw
