// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/thread_setup.h"

namespace oomw {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStackBytes = 1024u << 10;  // red zones make frames about four times larger
#else
constexpr std::size_t kStackBytes = 256u << 10;
#endif

}  // namespace

struct WorkerPool::Impl : std::enable_shared_from_this<WorkerPool::Impl> {
  struct Worker {
    pthread_t thread{};
    unsigned number = 0;
    std::optional<MonotonicTime> busy_since;
    bool is_given_up = false;
    bool has_ended = false;
  };
  // A thread's argument. It holds the pool's state: a thread that was given up outlives the pool.
  struct Start {
    std::shared_ptr<Impl> pool;
    Worker* worker;
  };

  Impl(std::string pool_name, std::size_t queue_capacity, unsigned spares)
      : name(std::move(pool_name)), capacity(queue_capacity), max_spares(spares) {}

  const std::string name;
  const std::size_t capacity;
  const unsigned max_spares;
  const SystemClock clock;
  mutable std::mutex mutex;
  std::condition_variable wake, ended;
  // All below is guarded by mutex.
  std::list<Worker> workers;
  std::deque<std::function<void()>> queue;
  unsigned started = 0;  // numbers the threads' names
  std::uint64_t given_up = 0;
  std::optional<Nanoseconds> patience;  // none: no thread is ever given up
  bool stopping = false;

  static void* enter(void* argument) {
    const std::unique_ptr<Start> start(static_cast<Start*>(argument));
    set_up_thread(start->pool->name + "-" + std::to_string(start->worker->number));
    start->pool->work(*start->worker);
    return nullptr;
  }

  bool start_locked() {
    Worker& worker = workers.emplace_back();
    worker.number = started;
    pthread_attr_t attributes;
    OOMW_CHECK(pthread_attr_init(&attributes) == 0);
    OOMW_CHECK(pthread_attr_setstacksize(&attributes, kStackBytes) == 0);
    auto start = std::make_unique<Start>(Start{shared_from_this(), &worker});
    const bool is_started = pthread_create(&worker.thread, &attributes, enter, start.get()) == 0;
    pthread_attr_destroy(&attributes);
    if (is_started) {
      (void)start.release();  // the thread's now
      ++started;
    } else {
      workers.pop_back();
    }
    return is_started;
  }

  // The next task; an empty one once the pool stops and nothing is queued, or this thread was given up.
  std::function<void()> take(Worker& worker) {
    std::unique_lock lock(mutex);
    worker.busy_since.reset();
    wake.wait(lock, [&] { return worker.is_given_up || stopping || !queue.empty(); });
    if (worker.is_given_up || queue.empty()) return {};
    auto task = std::move(queue.front());
    queue.pop_front();
    worker.busy_since = clock.now();
    return task;
  }

  void work(Worker& worker) {
    while (auto task = take(worker)) {
      task();
      task = nullptr;  // destroys what it holds before the thread counts as free
    }
    const std::lock_guard lock(mutex);
    worker.has_ended = true;
    ended.notify_all();
  }

  [[nodiscard]] bool hangs_locked(const Worker& worker, MonotonicTime now) const {
    return !worker.is_given_up && worker.busy_since && now - *worker.busy_since > *patience;
  }

  void give_up_locked(Worker& worker) {
    worker.is_given_up = true;
    ++given_up;
  }

  void relieve_locked(MonotonicTime now) {
    join_returned_locked();
    for (Worker& worker : workers) {
      if (!hangs_locked(worker, now) || stuck_locked() >= max_spares || !start_locked()) continue;
      give_up_locked(worker);
    }
  }

  // At the end no hanging thread is waited for, even if there is no spare to run the queued tasks.
  void give_up_all_locked(MonotonicTime now) {
    for (Worker& worker : workers) {
      if (hangs_locked(worker, now)) give_up_locked(worker);
    }
  }

  [[nodiscard]] std::size_t stuck_locked() const {
    return static_cast<std::size_t>(std::ranges::count_if(workers, &Worker::is_given_up));
  }

  void join_returned_locked() {
    std::erase_if(workers, [](const Worker& worker) {
      if (worker.is_given_up && worker.has_ended) pthread_join(worker.thread, nullptr);
      return worker.is_given_up && worker.has_ended;
    });
  }

  [[nodiscard]] bool finish() {
    std::unique_lock lock(mutex);
    stopping = true;
    wake.notify_all();
    const auto is_done = [](const Worker& worker) { return worker.is_given_up || worker.has_ended; };
    while (!ended.wait_for(lock, kParting, [&] { return std::ranges::all_of(workers, is_done); })) {
      if (!patience) continue;
      relieve_locked(clock.now());
      give_up_all_locked(clock.now());
    }
    ended.wait_for(lock, kParting, [this] { return std::ranges::all_of(workers, &Worker::has_ended); });
    std::erase_if(workers, [](const Worker& worker) {
      if (worker.has_ended) pthread_join(worker.thread, nullptr);
      return worker.has_ended;
    });
    return workers.empty();
  }
};

WorkerPool::WorkerPool(std::string name, unsigned threads, std::size_t capacity, unsigned max_spares)
    : impl_(std::make_shared<Impl>(std::move(name), capacity, max_spares)) {
  const std::lock_guard lock(impl_->mutex);
  for (unsigned i = 0; i < threads; ++i) (void)impl_->start_locked();
  // Under a pids limit some threads may be refused; one is enough to make progress.
  OOMW_CHECK(!impl_->workers.empty());
}

WorkerPool::~WorkerPool() {
  if (finish()) return;
  const std::lock_guard lock(impl_->mutex);
  for (const auto& worker : impl_->workers) pthread_detach(worker.thread);
}

bool WorkerPool::finish() { return impl_->finish(); }

bool WorkerPool::post(std::function<void()> task) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stopping || impl_->queue.size() >= impl_->capacity) return false;
    impl_->queue.push_back(std::move(task));
  }
  impl_->wake.notify_one();
  return true;
}

void WorkerPool::close() {
  std::deque<std::function<void()>> dropped;  // destroyed after the lock is released
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    dropped.swap(impl_->queue);
  }
  impl_->wake.notify_all();
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->queue.size();
}

void WorkerPool::relieve(MonotonicTime now, Nanoseconds patience) {
  const std::lock_guard lock(impl_->mutex);
  impl_->patience = patience;
  impl_->relieve_locked(now);
}

std::uint64_t WorkerPool::given_up() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->given_up;
}

}  // namespace oomw
