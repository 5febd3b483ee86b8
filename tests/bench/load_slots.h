// SPDX-License-Identifier: Apache-2.0
// Slots of a load at work: what CPU time a unit of its work took while something was on, and while it was off. Slots
// of 100 ms lie so near each other that what else happens on the machine hits both sides alike; two runs of a program,
// seconds apart, differ by 5 %.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "loads/progress.h"

namespace oomw::bench {

using std::chrono::milliseconds;

// The kernel patches its code at each change; what runs right behind that is not what is asked for.
constexpr milliseconds kSettle{10};
constexpr int kMaxSlots = 100;

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}

struct Sample {
  std::uint64_t units = 0, cpu_ns = 0;
};

class Load {
 public:
  explicit Load(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void* memory = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Progress::Shared), PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) give_up(std::string("cannot map ") + path);
    shared_ = static_cast<const Progress::Shared*>(memory);
  }

  [[nodiscard]] Sample now() const {
    for (;;) {
      const std::uint64_t before = shared_->sequence.load();
      const Sample sample{shared_->units.load(), shared_->cpu_ns.load()};
      if (before % 2 == 0 && shared_->sequence.load() == before) return sample;
    }
  }

 private:
  const Progress::Shared* shared_;
};

// A slot is over when its time is and some of the work was done in it: on a busy machine the load may
// wait for its CPU for longer than that.
inline void measure(const Load& load, const char* side, milliseconds slot) {
  std::this_thread::sleep_for(kSettle);
  const Sample first = load.now();
  Sample last = first;
  for (int slots = 0; last.units == first.units; ++slots) {
    if (slots == kMaxSlots) give_up("the load does not move");
    std::this_thread::sleep_for(slot);
    last = load.now();
  }
  std::printf("%s %llu %llu\n", side, static_cast<unsigned long long>(last.units - first.units),
              static_cast<unsigned long long>(last.cpu_ns - first.cpu_ns));
}

}  // namespace oomw::bench
