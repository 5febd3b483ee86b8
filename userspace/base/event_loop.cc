// SPDX-License-Identifier: Apache-2.0
#include "base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace oomw {
namespace {

// Ids of our own two fds in epoll's user data; watches count up from 1 and never get there.
constexpr std::uint64_t kWakeId = ~0ULL;
constexpr std::uint64_t kTimerId = ~0ULL - 1;

struct FdWatch {
  int fd = -1;
  EventLoop::FdCallback callback;
};

struct Timer {
  MonotonicTime deadline;
  Nanoseconds interval{0};  // 0: once
  EventLoop::Task task;
};

Result<> add_to_epoll(int epoll_fd, int fd, std::uint32_t events, std::uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) return fail_errno(errno, "epoll_ctl");
  return {};
}

// Both eventfd and timerfd are reset by reading their 8 bytes; EAGAIN means already reset.
void reset_counter(int fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd, &count, sizeof(count));
}

}  // namespace

struct EventLoop::Impl {
  UniqueFd epoll, wake, timer;
  SystemClock clock;
  StallMeter stalls;
  std::uint64_t next_id = 1;
  std::unordered_map<std::uint64_t, FdWatch> watches;
  std::unordered_map<std::uint64_t, Timer> timers;
  // Ordered by deadline. A set, not a heap: remove() takes a timer out at once, so timers that
  // are added and removed over and over leave nothing behind.
  std::set<std::pair<MonotonicTime, std::uint64_t>> deadlines;
  std::atomic<std::thread::id> owner;
  std::atomic<bool> stopping = false;
  Task after_each = [] {};
  std::mutex mutex;
  std::vector<Task> posted;  // guarded by mutex

  Result<> open();
  WatchId add_timer(MonotonicTime deadline, Nanoseconds interval, Task task);
  void arm();
  void ring() const;
  void step();
  void dispatch(std::uint64_t id, std::uint32_t events);
  void run_posted();
  void run_timers();
  void run_timer(std::uint64_t id, MonotonicTime now);
};

Result<> EventLoop::Impl::open() {
  epoll.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_valid()) return fail_errno(errno, "epoll_create1");
  wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_valid()) return fail_errno(errno, "eventfd");
  timer.reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.is_valid()) return fail_errno(errno, "timerfd_create");
  RETURN_IF_ERROR(add_to_epoll(epoll.get(), wake.get(), EPOLLIN, kWakeId));
  return add_to_epoll(epoll.get(), timer.get(), EPOLLIN, kTimerId);
}

WatchId EventLoop::Impl::add_timer(MonotonicTime deadline, Nanoseconds interval, Task task) {
  const std::uint64_t id = next_id++;
  timers.emplace(id, Timer{deadline, interval, std::move(task)});
  const auto [position, added] = deadlines.emplace(deadline, id);
  if (position == deadlines.begin()) arm();
  return {id};
}

// Sets the timerfd to the earliest deadline, or disarms it. An all-zero time would disarm, so the
// clock's own zero is moved by a nanosecond.
void EventLoop::Impl::arm() {
  itimerspec spec{};
  if (!deadlines.empty()) {
    const std::int64_t ns = std::max<std::int64_t>(deadlines.begin()->first.ns, 1);
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  OOMW_CHECK(timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

// EAGAIN would mean 2^64-2 unread wake-ups: the loop wakes in any case.
void EventLoop::Impl::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake.get(), &one, sizeof(one));
}

void EventLoop::Impl::step() {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(epoll.get(), ready.data(), static_cast<int>(ready.size()), -1);
  OOMW_CHECK(count >= 0 || errno == EINTR);
  stalls.begin(clock.now());
  for (int i = 0; i < count; ++i) dispatch(ready[i].data.u64, ready[i].events);
  stalls.end(clock.now());
}

void EventLoop::Impl::dispatch(std::uint64_t id, std::uint32_t events) {
  if (id == kWakeId) return run_posted();
  if (id == kTimerId) return run_timers();
  const auto found = watches.find(id);
  if (found == watches.end()) return;  // removed by a callback earlier in this batch
  // The callback is outside the table while it runs, so it may remove its own watch.
  FdCallback callback = std::move(found->second.callback);
  callback(events);
  after_each();
  if (const auto again = watches.find(id); again != watches.end()) again->second.callback = std::move(callback);
}

// Tasks that these tasks post wait for the next round: fds are not starved.
void EventLoop::Impl::run_posted() {
  reset_counter(wake.get());
  std::vector<Task> batch;
  {
    const std::lock_guard lock(mutex);
    batch.swap(posted);
  }
  for (const Task& task : batch) {
    task();
    after_each();
  }
}

void EventLoop::Impl::run_timers() {
  reset_counter(timer.get());
  const MonotonicTime now = clock.now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    run_timer(deadlines.begin()->second, now);
    after_each();
  }
  arm();
}

void EventLoop::Impl::run_timer(std::uint64_t id, MonotonicTime now) {
  const auto found = timers.find(id);
  Timer& due = found->second;
  deadlines.erase({due.deadline, id});
  if (due.interval.count() == 0) {
    const Task task = std::move(due.task);
    timers.erase(found);
    return task();
  }
  due.deadline = due.deadline + due.interval;
  if (due.deadline <= now) due.deadline = now + due.interval;  // late: no catching up
  deadlines.emplace(due.deadline, id);
  Task task = std::move(due.task);
  task();
  if (const auto again = timers.find(id); again != timers.end()) again->second.task = std::move(task);
}

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

Result<std::unique_ptr<EventLoop>> EventLoop::make() {
  std::unique_ptr<EventLoop> loop(new EventLoop());
  RETURN_IF_ERROR(loop->impl_->open());
  return loop;
}

Result<WatchId> EventLoop::add_fd(int fd, std::uint32_t epoll_events, FdCallback callback) {
  OOMW_CHECK(is_owner());
  const std::uint64_t id = impl_->next_id++;
  RETURN_IF_ERROR(add_to_epoll(impl_->epoll.get(), fd, epoll_events, id));
  impl_->watches.emplace(id, FdWatch{fd, std::move(callback)});
  return WatchId{id};
}

WatchId EventLoop::add_periodic(Nanoseconds interval, Task task) {
  OOMW_CHECK(is_owner());
  OOMW_CHECK(interval.count() > 0);
  return impl_->add_timer(impl_->clock.now() + interval, interval, std::move(task));
}

WatchId EventLoop::add_once(Nanoseconds delay, Task task) {
  OOMW_CHECK(is_owner());
  return impl_->add_timer(impl_->clock.now() + delay, Nanoseconds(0), std::move(task));
}

void EventLoop::remove(WatchId id) {
  OOMW_CHECK(is_owner());
  if (const auto watch = impl_->watches.find(id.value); watch != impl_->watches.end()) {
    epoll_ctl(impl_->epoll.get(), EPOLL_CTL_DEL, watch->second.fd, nullptr);
    impl_->watches.erase(watch);
  } else if (const auto timer = impl_->timers.find(id.value); timer != impl_->timers.end()) {
    impl_->deadlines.erase({timer->second.deadline, id.value});
    impl_->timers.erase(timer);
  }
}

void EventLoop::set_after_each(Task task) {
  OOMW_CHECK(is_owner());
  impl_->after_each = std::move(task);
}

void EventLoop::run() {
  impl_->owner = std::this_thread::get_id();
  while (!impl_->stopping.exchange(false)) impl_->step();
  impl_->owner = std::thread::id();
}

void EventLoop::stop() {
  impl_->stopping = true;
  impl_->ring();
}

bool EventLoop::post(Task task) {
  bool was_empty = false;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->posted.size() >= kMaxPosted) return false;
    was_empty = impl_->posted.empty();
    impl_->posted.push_back(std::move(task));
  }
  if (was_empty) impl_->ring();
  return true;
}

const StallMeter& EventLoop::stalls() const { return impl_->stalls; }

bool EventLoop::is_owner() const {
  const std::thread::id owner = impl_->owner;
  return owner == std::thread::id() || owner == std::this_thread::get_id();
}

}  // namespace oomw
