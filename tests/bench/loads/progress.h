// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

// How far a load has come and what CPU time that took, for who watches it at work: units done and
// nanoseconds (of this process and of the children it waited for), one pair, in the file that
// OOMW_PROGRESS names. Without that variable nothing happens.
class Progress {
 public:
  struct Shared {
    std::atomic<std::uint64_t> sequence;  // odd while the pair is being written
    std::atomic<std::uint64_t> units;
    std::atomic<std::uint64_t> cpu_ns;
  };

  Progress() {
    const char* path = std::getenv("OOMW_PROGRESS");
    const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory != MAP_FAILED) shared_ = static_cast<Shared*>(memory);
  }

  // The clock costs 0.3 us: call it each 50 us or less often.
  void done(std::uint64_t units) {
    if (shared_ == nullptr) return;
    total_ += units;
    const std::uint64_t cpu_ns = cpu_now_ns();
    shared_->sequence.fetch_add(1);
    shared_->units.store(total_);
    shared_->cpu_ns.store(cpu_ns);
    shared_->sequence.fetch_add(1);
  }

 private:
  static std::uint64_t cpu_now_ns() {
    timespec own{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    const auto micros = [](const timeval& t) {
      return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
    };
    return static_cast<std::uint64_t>(own.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(own.tv_nsec) +
           (micros(children.ru_utime) + micros(children.ru_stime)) * 1'000;
  }

  Shared* shared_ = nullptr;
  std::uint64_t total_ = 0;
};
