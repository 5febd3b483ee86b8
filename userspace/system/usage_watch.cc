// SPDX-License-Identifier: Apache-2.0
#include "system/usage_watch.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

// A slope over less than this is noise: the kernel charges in batches of 64 pages per CPU. Half of
// poll_fast, so that a poll a little early still has a slope.
constexpr Nanoseconds kMinGrowthInterval = std::chrono::milliseconds(5);
constexpr double kGrowthWeight = 0.5;

std::optional<std::uint64_t> read_usage(int fd) {
  std::array<char, 32> text;
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  if (n <= 0) return std::nullopt;
  return parse_u64(trim({text.data(), static_cast<std::size_t>(n)}));
}

}  // namespace

UsageWatch::UsageWatch(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, const FileEventsConfig& config,
                       std::function<void(Event)> deliver)
    : loop_(loop), cgroups_(cgroups), clock_(clock), config_(config), deliver_(std::move(deliver)) {
  if (cgroups_.version() == CgroupVersion::kV1) return;
  slow_timer_ = loop_.add_periodic(config_.poll_slow, [this] { poll_all(); });
}

UsageWatch::~UsageWatch() {
  for (const auto& [id, watched] : watched_) loop_.remove(watched.event_watch);
  loop_.remove(slow_timer_);
  loop_.remove(fast_timer_);
}

void UsageWatch::watch(CgroupId id, const std::string& path, std::uint64_t limit_bytes) {
  const auto found = watched_.find(id);
  if (found != watched_.end() && found->second.limit_bytes == limit_bytes) return;
  if (found == watched_.end() && watched_.size() >= config_.max_watched) {
    ++refused_;
    return;
  }
  unwatch(id);  // closing the eventfd takes the old levels back
  auto opened = open(id, path, limit_bytes);
  if (!opened.has_value()) {
    if (opened.error().code != ErrorCode::kNotFound) ++refused_;
    return;
  }
  watched_.emplace(id, std::move(*opened));
  check(id);  // levels passed already are not announced by the kernel
}

void UsageWatch::unwatch(CgroupId id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  loop_.remove(found->second.event_watch);
  watched_.erase(found);
}

Result<UsageWatch::Watched> UsageWatch::open(CgroupId id, const std::string& path, std::uint64_t limit_bytes) {
  const bool is_v1 = cgroups_.version() == CgroupVersion::kV1;
  ASSIGN_OR_RETURN(const UniqueFd dir, cgroups_.open(path));
  Watched watched;
  watched.limit_bytes = limit_bytes;
  ASSIGN_OR_RETURN(watched.usage, open_at(dir.get(), is_v1 ? "memory.usage_in_bytes" : "memory.current", O_RDONLY));
  if (!is_v1) return watched;
  watched.event = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watched.event.is_valid()) return fail_errno(errno, "eventfd");
  RETURN_IF_ERROR(register_levels(dir.get(), watched));
  ASSIGN_OR_RETURN(watched.event_watch, loop_.add_fd(watched.event.get(), EPOLLIN, [this, id](std::uint32_t) {
    const auto found = watched_.find(id);
    if (found == watched_.end()) return;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(found->second.event.get(), &count, sizeof(count));
    check(id);
  }));
  return watched;
}

// Also 5 % below each level, so that falling usage re-arms the latch: the kernel announces both
// directions.
Result<> UsageWatch::register_levels(int dir_fd, Watched& watched) const {
  ASSIGN_OR_RETURN(const UniqueFd control, open_at(dir_fd, "cgroup.event_control", O_WRONLY));
  const std::string fds = std::to_string(watched.event.get()) + " " + std::to_string(watched.usage.get()) + " ";
  const auto at_percent = [&](std::uint32_t percent) { return watched.limit_bytes / 100 * percent; };
  for (const std::uint32_t level : config_.levels_percent) {
    RETURN_IF_ERROR(write_all(control.get(), fds + std::to_string(at_percent(level))));
    if (level <= config_.rearm_percent) continue;
    RETURN_IF_ERROR(write_all(control.get(), fds + std::to_string(at_percent(level - config_.rearm_percent))));
  }
  return {};
}

// v1 also signals the eventfd of a cgroup that goes: the reading fails, and the watch ends.
void UsageWatch::check(CgroupId id) {
  Watched& watched = watched_.at(id);
  const auto usage = read_usage(watched.usage.get());
  if (!usage) return unwatch(id);
  update_growth(watched, *usage);
  const auto level = watched.latch.on_usage(*usage, watched.limit_bytes, config_.levels_percent, config_.rearm_percent);
  // Last: the receiver may come back and change what is watched.
  if (level) deliver_(crossing_of(id, watched, *level));
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
  crossed.leaf_cgroup = id;  // the file does not tell who below it charged
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
