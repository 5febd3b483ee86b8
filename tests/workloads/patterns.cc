// SPDX-License-Identifier: Apache-2.0
// The shapes of memory use of go-patterns in a program without a Go runtime, several at once if asked:
//   patterns [--hold-mb N] [--load-seconds S]                       working set
//            [--leak-kb-s R] [--map 1]                              malloc, or mmap, that is never freed
//            [--burst-mb N --burst-after S --burst-seconds S --burst-hold S]   once; hold 0 = for good
//            [--batch-mb N --batch-every S]                         filled within 1 s, then freed
//            [--churn-mb-s R]                                       malloc and free
//            [--queue-kb-s R --queue-done-kb-s R]                   jobs that come and jobs that are done and freed
//            [--answer-mb N --answer-after S --answer-seconds S]    read into one buffer that doubles, and kept
//            [--shared-kb-s R]                                      shared memory, never given back
//            [--workers N]                                          fork; each does all of the above
//            [--seed N]
// Prints "ready" first.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr double kKilobyte = 1 << 10, kMegabyte = 1 << 20;
constexpr std::size_t kPage = 4096;
// Above malloc's own threshold (128 KiB), so that what is freed goes back to the kernel.
constexpr std::size_t kBatchBlock = 256 << 10;
constexpr useconds_t kTickMicroseconds = 10'000;

using Options = std::map<std::string, double>;

Options parse(int argc, char** argv) {
  Options options = {{"hold-mb", 0},   {"load-seconds", 2},  {"leak-kb-s", 0},     {"map", 0},
                     {"burst-mb", 0},  {"burst-after", 12},  {"burst-seconds", 2}, {"burst-hold", 0},
                     {"batch-mb", 0},  {"batch-every", 8},   {"churn-mb-s", 0},    {"shared-kb-s", 0},
                     {"workers", 0},   {"seed", 1},          {"queue-kb-s", 0},    {"queue-done-kb-s", 0},
                     {"answer-mb", 0}, {"answer-after", 18}, {"answer-seconds", 2}};
  for (int i = 1; i < argc; i += 2) {
    const bool is_flag = std::strncmp(argv[i], "--", 2) == 0 && i + 1 < argc;
    const auto known = is_flag ? options.find(argv[i] + 2) : options.end();
    if (known == options.end()) {
      std::fprintf(stderr, "patterns: no flag %s, or no value for it\n", argv[i]);
      std::exit(2);
    }
    known->second = std::atof(argv[i + 1]);
  }
  return options;
}

void touch(char* memory, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kPage) static_cast<volatile char*>(memory)[i] = 1;
}

char* allocate(std::size_t bytes) {
  char* memory = static_cast<char*>(std::malloc(bytes));
  if (memory == nullptr) _exit(3);
  touch(memory, bytes);
  return memory;
}

char* map(std::size_t bytes, int kind) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(3);
  touch(static_cast<char*>(memory), bytes);
  return static_cast<char*>(memory);
}

// How much there is to do by now of what goes on at one rate.
class Debt {
 public:
  explicit Debt(double per_second, double from = 0) : per_second_(per_second), from_(from) {}
  [[nodiscard]] bool is_due(double now) const { return done_ < per_second_ * (now - from_); }
  void pay(double amount) { done_ += amount; }
  [[nodiscard]] double done() const { return done_; }

 private:
  double per_second_, from_, done_ = 0;
};

// A share of memory that is filled from `begin` on within `seconds`, and freed where `end` is after it.
struct Fill {
  double bytes = 0, begin = 0, seconds = 1, end = 0;
  double filled = 0;
  std::vector<char*> blocks;

  void step(double now, std::size_t block) {
    if (end > begin && now >= end) return clear();
    if (now < begin) return;
    const double due = std::min(bytes, bytes * (now - begin) / std::max(seconds, 0.01));
    for (; filled < due; filled += static_cast<double>(block)) blocks.push_back(allocate(block));
  }
  void clear() {
    for (char* memory : blocks) std::free(memory);
    blocks.clear();
  }
  void restart(double when, double lasting) {
    filled = 0;
    begin = when;
    end = when + lasting;
  }
};

// Jobs that wait until they are done: ever more where they come faster.
class Queue {
 public:
  Queue(double made_per_second, double done_per_second) : made_(made_per_second), done_(done_per_second) {}

  void step(double now, std::minstd_rand& random) {
    while (made_.is_due(now)) {
      const std::size_t bytes = 4096 + random() % (24 << 10);
      jobs_.push_back({allocate(bytes), static_cast<double>(bytes)});
      made_.pay(jobs_.back().bytes);
    }
    while (done_.is_due(now) && !jobs_.empty()) {
      done_.pay(jobs_.front().bytes);
      std::free(jobs_.front().memory);
      jobs_.pop_front();
    }
  }

 private:
  struct Job {
    char* memory;
    double bytes;
  };
  Debt made_, done_;
  std::deque<Job> jobs_;
};

// One answer of `bytes`, read in pieces into a buffer that is moved to one of twice the size whenever it is full.
struct Answer {
  double bytes = 0, begin = 0, seconds = 1;
  std::vector<char> buffer;

  void step(double now) {
    if (now < begin) return;
    const double due = std::min(bytes, bytes * (now - begin) / std::max(seconds, 0.01));
    while (static_cast<double>(buffer.size()) < due) buffer.insert(buffer.end(), kPage, 'a');
  }
};

class Shape {
 public:
  explicit Shape(const Options& o)
      : options_(o),
        random_(static_cast<unsigned>(o.at("seed"))),
        hold_{o.at("hold-mb") * kMegabyte, 0, o.at("load-seconds"), 0, 0, {}},
        burst_{o.at("burst-mb") * kMegabyte, o.at("burst-after"), o.at("burst-seconds"), 0, 0, {}},
        batch_{o.at("batch-mb") * kMegabyte, o.at("batch-every") / 2, 1, o.at("batch-every") / 2 + 2, 0, {}},
        leak_(o.at("leak-kb-s") * kKilobyte),
        churn_(o.at("churn-mb-s") * kMegabyte),
        shared_(o.at("shared-kb-s") * kKilobyte),
        queue_(o.at("queue-kb-s") * kKilobyte, o.at("queue-done-kb-s") * kKilobyte),
        answer_{o.at("answer-mb") * kMegabyte, o.at("answer-after"), o.at("answer-seconds"), {}} {
    if (o.at("burst-hold") > 0) burst_.end = burst_.begin + burst_.seconds + o.at("burst-hold");
  }

  void step(double now) {
    hold_.step(now, 16 << 10);
    burst_.step(now, kBatchBlock);
    step_batch(now);
    queue_.step(now, random_);
    answer_.step(now);
    for (; leak_.is_due(now); leak_.pay(static_cast<double>(leak_some()))) {
    }
    for (; churn_.is_due(now); churn_.pay(kMegabyte)) std::free(allocate(static_cast<std::size_t>(kMegabyte)));
    for (; shared_.is_due(now); shared_.pay(kBatchBlock)) map(kBatchBlock, MAP_SHARED);
  }

 private:
  void step_batch(double now) {
    if (batch_.bytes <= 0) return;
    batch_.step(now, kBatchBlock);
    if (now >= batch_.end) batch_.restart(batch_.begin + options_.at("batch-every"), 2);
  }

  std::size_t leak_some() {
    const bool is_mapped = options_.at("map") > 0;
    const std::size_t bytes = is_mapped ? kBatchBlock : 2048 + random_() % (12 << 10);
    is_mapped ? map(bytes, MAP_PRIVATE) : allocate(bytes);
    return bytes;
  }

  const Options& options_;
  std::minstd_rand random_;
  Fill hold_, burst_, batch_;
  Debt leak_, churn_, shared_;
  Queue queue_;
  Answer answer_;
};

void fork_workers(int count) {
  for (int i = 0; i < count; ++i) {
    if (fork() == 0) return;
  }
  if (count > 0) {
    for (;;) pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::puts("ready");
  std::fflush(stdout);
  fork_workers(static_cast<int>(options.at("workers")));
  Shape shape(options);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    shape.step(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    usleep(kTickMicroseconds);
  }
}
