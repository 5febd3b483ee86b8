// SPDX-License-Identifier: Apache-2.0
#include "kernel/ring.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <oomwitness/settings.h>

#include "base/clock.h"
#include "events/decode.h"

namespace oomw {

Result<std::unique_ptr<Ring>> Ring::make(int map_fd, int next_looks_fd) {
  std::unique_ptr<Ring> ring(new Ring(next_looks_fd));
  ring->buffer_ = ring_buffer__new(map_fd, &Ring::on_record, ring.get(), nullptr);
  if (ring->buffer_ == nullptr) return fail_errno(errno, "mapping the ring buffer");
  RETURN_IF_ERROR(ring->watch());
  return ring;
}

Ring::~Ring() { ring_buffer__free(buffer_); }

Result<> Ring::watch() {
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  for (const int fd : {ring_buffer__epoll_fd(buffer_), timer_.get()}) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) return fail_errno(errno, "watching the ring");
  }
  return {};
}

int Ring::epoll_fd() const { return epoll_.get(); }

// Set anew by every drain that took a record: what is sent in silence after that record comes
// before this expires. So a storm wakes us once, and then we look as often as it would have.
void Ring::look_again_later() const {
  itimerspec when{};
  when.it_value.tv_nsec = OOMW_LAZY_WAKE_NS;
  // Before the timer's own beginning: never later than it fires.
  const auto look_ns = static_cast<std::uint64_t>(SystemClock().now().ns) + OOMW_LAZY_WAKE_NS;
  if (::timerfd_settime(timer_.get(), 0, &when, nullptr) != 0) return;
  const std::uint32_t index = 0;
  if (next_looks_fd_ >= 0) bpf_map_update_elem(next_looks_fd_, &index, &look_ns, BPF_ANY);
}

std::size_t Ring::drain(const std::function<void(Event)>& deliver, std::size_t max_records) {
  if (max_records == 0) return 0;
  std::uint64_t expirations = 0;
  (void)!::read(timer_.get(), &expirations, sizeof(expirations));
  deliver_ = &deliver;
  taken_ = 0;
  max_records_ = max_records;
  ring_buffer__consume(buffer_);
  deliver_ = nullptr;
  if (taken_ > 0) look_again_later();
  return taken_;
}

int Ring::on_record(void* self, void* data, std::size_t size) { return static_cast<Ring*>(self)->take(data, size); }

int Ring::take(const void* data, std::size_t size) {
  ++taken_;
  auto event = decode({static_cast<const std::byte*>(data), size});
  if (event) {
    (*deliver_)(std::move(*event));
  } else {
    ++undecodable_;
  }
  // libbpf 1.1 has no record limit of its own; an error stops it after this record is consumed.
  return taken_ < max_records_ ? 0 : -ECANCELED;
}

}  // namespace oomw
