// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

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

struct WorkerPool::Impl {
  Impl(std::string pool_name, std::size_t queue_capacity) : name(std::move(pool_name)), capacity(queue_capacity) {}

  const std::string name;
  const std::size_t capacity;
  std::vector<pthread_t> threads;
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;  // guarded by mutex
  unsigned started = 0;                     // guarded by mutex; numbers the threads' names
  bool stopping = false;                    // guarded by mutex

  static void* enter(void* self) {
    static_cast<Impl*>(self)->work();
    return nullptr;
  }

  // The next task; an empty one once the pool stops and nothing is queued.
  std::function<void()> take() {
    std::unique_lock lock(mutex);
    wake.wait(lock, [this] { return stopping || !queue.empty(); });
    if (queue.empty()) return {};
    auto task = std::move(queue.front());
    queue.pop_front();
    return task;
  }

  void work() {
    unsigned number = 0;
    {
      const std::lock_guard lock(mutex);
      number = started++;
    }
    set_up_thread(name + "-" + std::to_string(number));
    while (const auto task = take()) task();
  }
};

WorkerPool::WorkerPool(std::string name, unsigned threads, std::size_t capacity)
    : impl_(std::make_unique<Impl>(std::move(name), capacity)) {
  pthread_attr_t attributes;
  OOMW_CHECK(pthread_attr_init(&attributes) == 0);
  OOMW_CHECK(pthread_attr_setstacksize(&attributes, kStackBytes) == 0);
  for (unsigned i = 0; i < threads; ++i) {
    pthread_t thread{};
    if (pthread_create(&thread, &attributes, Impl::enter, impl_.get()) == 0) impl_->threads.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  // Under a pids limit some may be refused; one is enough to make progress.
  OOMW_CHECK(!impl_->threads.empty());
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  for (const pthread_t thread : impl_->threads) pthread_join(thread, nullptr);
}

bool WorkerPool::post(std::function<void()> task) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stopping || impl_->queue.size() >= impl_->capacity) return false;
    impl_->queue.push_back(std::move(task));
  }
  impl_->wake.notify_one();
  return true;
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->queue.size();
}

}  // namespace oomw
