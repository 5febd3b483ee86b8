// SPDX-License-Identifier: Apache-2.0
#include "system/argument_reader.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace oomw {
namespace {

constexpr Nanoseconds kRelief = std::chrono::seconds(1);

struct Request {
  ProcessKey process;
  MonotonicTime asked;
};

}  // namespace

struct ArgumentReader::Shared : std::enable_shared_from_this<Shared> {
  Shared(Read read_them, Deliver a_deliver) : read_process(std::move(read_them)), deliver(std::move(a_deliver)) {}

  const SystemClock clock;
  const Read read_process;
  const Deliver deliver;  // core thread
  mutable std::mutex mutex;
  // All below is guarded by mutex.
  EventLoop* loop = nullptr;  // null: the owner is gone, and so is whom to tell
  WorkerPool* pool = nullptr;
  // An owner is in it while one of its readings is under way or queued in the pool; the others wait here.
  std::map<std::string, std::deque<Request>> owners;
  std::size_t waiting = 0;
  std::vector<ProcessSeen> done;
  bool is_told = false;  // tell() is posted
  std::uint64_t lost = 0;

  void ask(const Request& request, const std::string& owner) {
    const std::lock_guard lock(mutex);
    if (const auto busy = owners.find(owner); busy != owners.end()) {
      if (waiting >= kMaxWaiting || busy->second.size() >= kMaxPerOwner) {
        ++lost;
      } else {
        busy->second.push_back(request);
        ++waiting;
      }
      return;
    }
    owners[owner];
    begin_locked(request, owner);
  }

  void begin_locked(const Request& request, const std::string& owner) {
    const bool is_posted = pool != nullptr && pool->post([shared = shared_from_this(), request, owner] {
      shared->finish(request, owner, shared->read(request));
    });
    if (is_posted) return;
    const auto refused = owners.find(owner);
    lost += 1 + refused->second.size();
    waiting -= refused->second.size();
    owners.erase(refused);
  }

  // A worker: may take for ever. nullopt: there is nothing to tell.
  [[nodiscard]] std::optional<ProcessSeen> read(const Request& request) const {
    auto seen = read_process(request.process.pid, clock.now());
    if (!seen.has_value() || seen->process != request.process) return std::nullopt;
    if (seen->cmdline.empty() && !seen->go.gogc_percent && !seen->go.memory_limit_bytes) return std::nullopt;
    return std::move(*seen);
  }

  void finish(const Request& request, const std::string& owner, std::optional<ProcessSeen> seen) {
    const std::lock_guard lock(mutex);
    if (clock.now() - request.asked > kMaxAge) {
      ++lost;
    } else if (seen && loop != nullptr) {
      done.push_back(std::move(*seen));
      // One task for all that is done by the time it runs; if the loop's queue is full, the next result posts it.
      if (!is_told) is_told = loop->post([shared = shared_from_this()] { shared->tell(); });
    }
    const auto mine = owners.find(owner);
    if (mine->second.empty()) {
      owners.erase(mine);
      return;
    }
    const Request next = mine->second.front();
    mine->second.pop_front();
    --waiting;
    begin_locked(next, owner);
  }

  // Core thread.
  void tell() {
    std::vector<ProcessSeen> news;
    {
      const std::lock_guard lock(mutex);
      news.swap(done);
      is_told = false;
      if (loop == nullptr) return;
    }
    for (ProcessSeen& seen : news) deliver(std::move(seen));
  }
};

ArgumentReader::ArgumentReader(EventLoop& loop, const Clock& clock, Read read, Deliver deliver)
    : loop_(loop),
      clock_(clock),
      shared_(std::make_shared<Shared>(std::move(read), std::move(deliver))),
      pool_(std::make_unique<WorkerPool>("oomw-args", kThreads, kMaxWaiting, kSpares)) {
  shared_->loop = &loop;
  shared_->pool = pool_.get();
  relief_ = loop.add_periodic(kRelief, [this] { pool_->relieve(clock_.now(), kPatience); });
}

// A reading that hangs is not waited for: its thread ends with the process.
ArgumentReader::~ArgumentReader() {
  loop_.remove(relief_);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->loop = nullptr;
    shared_->pool = nullptr;
  }
  pool_->close();
  pool_->relieve(clock_.now(), kPatience);
}

void ArgumentReader::read(ProcessKey process, const std::string& owner) {
  shared_->ask({process, clock_.now()}, owner);
}

std::uint64_t ArgumentReader::lost() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost + pool_->given_up();
}

}  // namespace oomw
