// SPDX-License-Identifier: Apache-2.0
// Trends whose figures can be told by head, and the program that they are of.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "runtimes/go/go_process.h"
#include "trends/leak_detector.h"
#include "unit/trends/heap_story.h"

namespace oomw::test {

// So large that Go samples each of them: what is held and what is read are the same.
constexpr std::uint64_t kBlock = 64 * kMiB;

// A minute and a collection from one reading to the next.
class TrendStory {
 public:
  HeapStory heap;
  HeapTrend trend;

  void read() {
    heap.collect();
    trend.add(heap.read(), {at_second(60.0 * ++minutes_), ReadingOrigin::kScheduled, false});
  }

 private:
  int minutes_ = 0;
};

// Site 1 stays, each of `leaking` gains as many blocks a minute as its number says.
inline TrendStory leaking_story(const std::vector<std::uint32_t>& leaking, int readings = 10) {
  TrendStory story;
  story.heap.hold(1, 4.0 * kBlock, kBlock);
  for (int i = 0; i < readings; ++i) {
    for (const std::uint32_t site : leaking) story.heap.add(site, static_cast<double>(site * kBlock), kBlock);
    story.read();
  }
  return story;
}

// One holding of one stack, as a process may make it up.
inline HeapReading one_holding(const std::vector<std::uint64_t>& pcs, std::uint64_t block_bytes, std::int64_t objects,
                               std::uint32_t collection) {
  HeapReading reading;
  reading.rate = kRate;
  reading.is_complete = true;
  reading.collection = collection;
  const HeapAmount amount{objects, static_cast<std::int64_t>(static_cast<std::uint64_t>(objects) * block_bytes)};
  reading.holdings.push_back(
      {reading.pcs.append(pcs), static_cast<std::uint32_t>(pcs.size()), block_bytes, amount, amount, amount});
  return reading;
}

// A Go program of which nothing is known but that it runs; with `exe` that file is its executable.
inline void set_process(GoProcess& process, const std::string& exe = "") {
  process.key = {4711, 90};
  process.binary = std::make_shared<go::GoBinary>();
  if (exe.empty()) return;
  UniqueFd fd(::open(exe.c_str(), O_RDONLY | O_CLOEXEC));
  process.exe = std::make_shared<ExeHandle>(std::move(fd), FileIdentity{}, exe, std::make_shared<ExeHandle::Unused>());
}

}  // namespace oomw::test
