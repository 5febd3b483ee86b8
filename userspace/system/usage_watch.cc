// SPDX-License-Identifier: Apache-2.0
#include "system/usage_watch.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "system/memory_files.h"

namespace oomw {
namespace {

// A slope over less time than this is noise: the kernel charges in batches of 64 pages per CPU. It is
// half of poll_fast, so that a slightly early poll still has a slope.
constexpr Nanoseconds kMinGrowthInterval = std::chrono::milliseconds(5);
constexpr double kGrowthWeight = 0.5;
constexpr Nanoseconds kAgain = std::chrono::milliseconds(20);

std::optional<std::uint64_t> read_usage(int fd) {
  std::array<char, 32> buffer;
  const auto text = read_again(fd, buffer);
  return text ? parse_u64(trim(*text)) : std::nullopt;
}

}  // namespace

UsageWatch::UsageWatch(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, const FileEventsConfig& config,
                       std::function<void(Event)> deliver)
    : loop_(loop),
      cgroups_(cgroups),
      clock_(clock),
      config_(config),
      deliver_(std::move(deliver)),
      again_alarm_(loop, clock, [this] { check_again(); }) {
  if (cgroups_.version() == CgroupVersion::kV1) {
    registrar_.emplace(loop_, cgroups_, config_.max_watched);
    return;
  }
  slow_timer_ = loop_.add_periodic(config_.poll_slow, [this] { poll_all(); });
}

UsageWatch::~UsageWatch() {
  registrar_.reset();
  for (const auto& [id, watched] : watched_) loop_.remove(watched.event_watch);
  loop_.remove(slow_timer_);
  loop_.remove(fast_timer_);
}

bool UsageWatch::is_known(CgroupId id, std::uint64_t limit_bytes) const {
  if (const auto found = pending_.find(id); found != pending_.end()) return found->second.limit_bytes == limit_bytes;
  const auto found = watched_.find(id);
  return found != watched_.end() && found->second.limit_bytes == limit_bytes;
}

void UsageWatch::watch(CgroupId id, const std::string& path, std::uint64_t limit_bytes) {
  if (is_known(id, limit_bytes)) return;
  unwatch(id);  // closing the eventfd unregisters the old levels
  if (watched_.size() + pending_.size() >= config_.max_watched) {
    ++refused_;
  } else if (registrar_) {
    watch_by_event(id, path, limit_bytes);
  } else {
    watch_by_polling(id, path, limit_bytes);
  }
}

void UsageWatch::unwatch(CgroupId id) {
  pending_.erase(id);
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  loop_.remove(found->second.event_watch);
  watched_.erase(found);
}

void UsageWatch::refuse(const Error& error) {
  if (error.code != ErrorCode::kNotFound) ++refused_;
}

void UsageWatch::watch_by_polling(CgroupId id, const std::string& path, std::uint64_t limit_bytes) {
  const auto dir = cgroups_.open(path);
  if (!dir.has_value()) return refuse(dir.error());
  auto usage = open_at(dir->get(), memory_file_names(CgroupVersion::kV2).usage, O_RDONLY);
  if (!usage.has_value()) return refuse(usage.error());
  Watched watched;
  watched.limit_bytes = limit_bytes;
  watched.usage = std::move(*usage);
  watched_.emplace(id, std::move(watched));
  check(id);
}

// Also 5 % below each level, so that falling usage re-arms the latch: the kernel announces both
// directions. Duplicates are removed, because every level costs a grace period.
std::vector<std::uint64_t> UsageWatch::levels_of(std::uint64_t limit_bytes) const {
  std::set<std::uint64_t> levels;
  for (const std::uint32_t level : config_.levels_percent) {
    levels.insert(limit_bytes / 100 * level);
    if (level > config_.rearm_percent) levels.insert(limit_bytes / 100 * (level - config_.rearm_percent));
  }
  return {levels.begin(), levels.end()};
}

void UsageWatch::watch_by_event(CgroupId id, const std::string& path, std::uint64_t limit_bytes) {
  const std::uint64_t number = next_number_++;
  pending_[id] = {number, limit_bytes};
  const auto done = [this, id, number](Result<std::shared_ptr<LevelRegistrar::Announced>> announced) {
    handle_announced(id, number, std::move(announced));
  };
  if (registrar_->post(id, path, levels_of(limit_bytes), done)) return;
  pending_.erase(id);
  ++refused_;
}

void UsageWatch::handle_announced(CgroupId id, std::uint64_t number,
                                  Result<std::shared_ptr<LevelRegistrar::Announced>> announced) {
  const auto found = pending_.find(id);
  if (found == pending_.end() || found->second.number != number) return;  // removed, or has another limit by now
  Watched watched;
  watched.limit_bytes = found->second.limit_bytes;
  pending_.erase(found);
  if (!announced.has_value()) return refuse(announced.error());
  watched.usage = std::move((*announced)->usage);
  watched.event = std::move((*announced)->event);
  auto added = loop_.add_fd(watched.event.get(), EPOLLIN, [this, id](std::uint32_t) { on_event(id); });
  if (!added.has_value()) return refuse(added.error());
  watched.event_watch = *added;
  watched_.emplace(id, std::move(watched));
  check(id);  // levels passed before they were registered are not announced by the kernel
}

void UsageWatch::on_event(CgroupId id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(found->second.event.get(), &count, sizeof(count));
  if (check(id) || !watched_.contains(id)) return;
  again_.insert(id);
  again_alarm_.ring_by(clock_.now() + kAgain);
}

// The kernel compares usage that includes what each CPU has charged ahead. That may be given back before we read, and
// charged again before the kernel looks the next time: it saw no crossing then, and announces none.
void UsageWatch::check_again() {
  for (const CgroupId id : std::exchange(again_, {})) {
    if (watched_.contains(id)) check(id);
  }
}

// v1 also signals the eventfd when the cgroup is removed: then the reading fails and the watch ends.
bool UsageWatch::check(CgroupId id) {
  Watched& watched = watched_.at(id);
  const auto usage = read_usage(watched.usage.get());
  if (!usage) {
    unwatch(id);
    return false;
  }
  update_growth(watched, *usage);
  const auto level = watched.latch.on_usage(*usage, watched.limit_bytes, config_.levels_percent, config_.rearm_percent);
  if (level) deliver_(crossing_of(id, watched, *level));
  return level.has_value();
}

void UsageWatch::update_growth(Watched& watched, std::uint64_t usage_bytes) {
  watched.usage_bytes = usage_bytes;
  const MonotonicTime now = clock_.now();
  const Nanoseconds elapsed = now - watched.slope_from;
  const bool is_first = watched.slope_from.ns == 0;
  if (!is_first && elapsed < kMinGrowthInterval) return;
  if (!is_first) {
    const double slope =
        (static_cast<double>(usage_bytes) - static_cast<double>(watched.slope_from_bytes)) / to_seconds(elapsed);
    const double before = watched.growth_bytes_per_second.value_or(slope);
    watched.growth_bytes_per_second = before + kGrowthWeight * (slope - before);
  }
  watched.slope_from = now;
  watched.slope_from_bytes = usage_bytes;
}

WatermarkCrossed UsageWatch::crossing_of(CgroupId id, const Watched& watched, std::uint32_t level) const {
  WatermarkCrossed crossed;
  crossed.time = clock_.now();
  crossed.cgroup = id;
  crossed.leaf_cgroup = id;  // the file does not name the descendant that charged
  crossed.level_percent = level;
  crossed.usage_bytes = watched.usage_bytes;
  crossed.limit_bytes = watched.limit_bytes;
  crossed.growth_bytes_per_second = watched.growth_bytes_per_second;
  const double growth = watched.growth_bytes_per_second.value_or(0);
  if (growth >= 1 && watched.limit_bytes > watched.usage_bytes) {
    const double seconds = static_cast<double>(watched.limit_bytes - watched.usage_bytes) / growth;
    if (seconds < 86'400) crossed.time_to_limit = Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  return crossed;
}

void UsageWatch::poll_all() {
  std::vector<CgroupId> ids;
  ids.reserve(watched_.size());
  for (const auto& [id, watched] : watched_) ids.push_back(id);
  near_.clear();
  for (const CgroupId id : ids) {
    if (watched_.contains(id)) check(id);
    const auto found = watched_.find(id);
    if (found == watched_.end()) continue;
    const auto limit = static_cast<double>(found->second.limit_bytes);
    if (static_cast<double>(found->second.usage_bytes) >= kFastRatio * limit) near_.push_back(id);
  }
  const bool is_fast = fast_timer_.value != 0;
  if (is_fast == !near_.empty()) return;
  loop_.remove(std::exchange(fast_timer_, {}));
  if (!near_.empty()) fast_timer_ = loop_.add_periodic(config_.poll_fast, [this] { poll_near(); });
}

void UsageWatch::poll_near() {
  const std::vector<CgroupId> ids = near_;
  for (const CgroupId id : ids) {
    if (watched_.contains(id)) check(id);
  }
}

}  // namespace oomw
