// SPDX-License-Identifier: Apache-2.0
#include "base/slow_readings.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/patience.h"

namespace oomw {
namespace {

constexpr Nanoseconds kRelief = std::chrono::seconds(1);

struct Request {
  SlowReadings::Reading reading;
  MonotonicTime asked;
};

}  // namespace

struct SlowReadings::Shared : std::enable_shared_from_this<Shared> {
  explicit Shared(Limits its_limits) : limits(its_limits) {}

  const SystemClock clock;
  const Limits limits;
  mutable std::mutex mutex;
  std::condition_variable idle;  // owners has become empty
  // All below is guarded by mutex.
  EventLoop* loop = nullptr;  // null: the owner is gone, and so is whom to tell
  WorkerPool* pool = nullptr;
  // An owner is in it while one of its readings is under way or queued in the pool; the others wait here.
  std::map<std::string, std::deque<Request>> owners;
  std::size_t waiting = 0;
  std::vector<Tell> done;
  bool is_told = false;  // tell() is posted
  std::uint64_t lost = 0;

  void ask(Request request, const std::string& owner) {
    const std::lock_guard lock(mutex);
    if (const auto busy = owners.find(owner); busy != owners.end()) {
      if (waiting >= limits.max_waiting || busy->second.size() >= limits.max_per_owner) {
        ++lost;
      } else {
        busy->second.push_back(std::move(request));
        ++waiting;
      }
      return;
    }
    owners[owner];
    begin_locked(std::move(request), owner);
  }

  void begin_locked(Request request, const std::string& owner) {
    const bool is_posted = pool != nullptr && pool->post([shared = shared_from_this(), request, owner] {
      shared->finish(request, owner, request.reading());
    });
    if (is_posted) return;
    const auto refused = owners.find(owner);
    lost += 1 + refused->second.size();
    waiting -= refused->second.size();
    owners.erase(refused);
    if (owners.empty()) idle.notify_all();
  }

  void finish(const Request& request, const std::string& owner, Tell news) {
    const std::lock_guard lock(mutex);
    if (clock.now() - request.asked > limits.max_age) {
      ++lost;
    } else if (news && loop != nullptr) {
      done.push_back(std::move(news));
      // One task for all that is done by the time it runs; if the loop's queue is full, the next result posts it.
      if (!is_told) is_told = loop->post([shared = shared_from_this()] { shared->tell(); });
    }
    const auto mine = owners.find(owner);
    if (mine->second.empty()) {
      owners.erase(mine);
      if (owners.empty()) idle.notify_all();
      return;
    }
    Request next = std::move(mine->second.front());
    mine->second.pop_front();
    --waiting;
    begin_locked(std::move(next), owner);
  }

  // Core thread.
  void tell() {
    std::vector<Tell> all;
    {
      const std::lock_guard lock(mutex);
      all.swap(done);
      is_told = false;
      if (loop == nullptr) return;
    }
    for (const Tell& news : all) news();
  }
};

SlowReadings::SlowReadings(EventLoop& loop, const Clock& clock, std::string name, Limits limits)
    : loop_(loop),
      clock_(clock),
      shared_(std::make_shared<Shared>(limits)),
      pool_(std::make_unique<WorkerPool>(std::move(name), limits.threads, limits.max_waiting, limits.spares)) {
  shared_->loop = &loop;
  shared_->pool = pool_.get();
  relief_ = loop.add_periodic(kRelief, [this] { pool_->relieve(clock_.now(), patient(kPatience)); });
}

// A reading that hangs is not waited for: its thread ends with the process.
SlowReadings::~SlowReadings() {
  loop_.remove(relief_);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->loop = nullptr;
    shared_->pool = nullptr;
  }
  pool_->close();
  pool_->relieve(clock_.now(), patient(kPatience));
}

void SlowReadings::ask(const std::string& owner, Reading reading) {
  shared_->ask({std::move(reading), clock_.now()}, owner);
}

void SlowReadings::settle(Nanoseconds patience) {
  {
    std::unique_lock lock(shared_->mutex);
    (void)shared_->idle.wait_for(lock, patience, [this] { return shared_->owners.empty(); });
  }
  shared_->tell();
}

std::uint64_t SlowReadings::lost() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost + pool_->given_up();
}

}  // namespace oomw
