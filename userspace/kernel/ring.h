// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/event.h"

struct ring_buffer;

namespace oomw {

// The consumer's end of the ring buffer. Core thread only.
// Not every record that can wait (execs, exits) wakes us. epoll_fd() becomes readable OOMW_LAZY_WAKE_NS after one that
// did, or after a drain() that took any. Records that arrive until then, and for OOMW_READ_GRACE_NS more, do not wake
// us.
class Ring {
 public:
  // Maps the ring; map_fd may be closed afterwards. next_reads_fd is the map in which the
  // programs find the time of the next reading; the caller keeps it open while this lives. -1: none.
  [[nodiscard]] static Result<std::unique_ptr<Ring>> make(int map_fd, int next_reads_fd);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  [[nodiscard]] int epoll_fd() const;
  // Takes at most max_records, decodable or not; returns how many.
  std::size_t drain(const std::function<void(Event)>& deliver, std::size_t max_records);
  [[nodiscard]] std::uint64_t undecodable() const { return undecodable_; }

 private:
  explicit Ring(int next_reads_fd) : next_reads_fd_(next_reads_fd) {}
  static int on_record(void* self, void* data, std::size_t size);
  int take(const void* data, std::size_t size);
  Result<> watch();
  void read_again_later();
  void read_once_more() const;

  int next_reads_fd_;
  ring_buffer* buffer_ = nullptr;
  UniqueFd epoll_;  // readable when the ring or the timer is
  UniqueFd timer_;
  MonotonicTime silent_until_;                           // as the programs know it
  const std::function<void(Event)>* deliver_ = nullptr;  // during drain() only
  std::size_t taken_ = 0;
  std::size_t max_records_ = 0;
  std::uint64_t undecodable_ = 0;
};

}  // namespace oomw
