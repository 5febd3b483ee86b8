// SPDX-License-Identifier: Apache-2.0
#include "kernel/ring.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <oomwitness/settings.h>

#include "events/decode.h"

namespace oomw {

namespace {

constexpr std::int64_t kReadNs = OOMW_LAZY_WAKE_NS;
constexpr std::int64_t kGraceNs = OOMW_READ_GRACE_NS;
// A record gets its time before it is in the ring: 3 us earlier, unless it loses its CPU meanwhile.
constexpr std::int64_t kCommitNs = 1'000'000;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

bool arm(int timer_fd, MonotonicTime when) {
  itimerspec spec{};
  spec.it_value.tv_sec = when.ns / kNanosecondsPerSecond;
  spec.it_value.tv_nsec = when.ns % kNanosecondsPerSecond;
  return ::timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, nullptr) == 0;
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::make(int map_fd, int next_reads_fd) {
  std::unique_ptr<Ring> ring(new Ring(next_reads_fd));
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

// Rearmed by every drain that took a record: a storm wakes us once, and then we read as often as it would have woken
// us. The silence outlasts the timer; otherwise it would end before this thread runs to renew it.
void Ring::read_again_later() {
  const MonotonicTime now = SystemClock().now();
  if (!arm(timer_.get(), {now.ns + kReadNs})) return;
  silent_until_ = {now.ns + kReadNs + kGraceNs};
  const auto read_ns = static_cast<std::uint64_t>(silent_until_.ns);
  const std::uint32_t index = 0;
  if (next_reads_fd_ >= 0) bpf_map_update_elem(next_reads_fd_, &index, &read_ns, BPF_ANY);
}

// No record came, but until silent_until_ records may still arrive without a wakeup.
void Ring::read_once_more() const {
  if (silent_until_ > SystemClock().now()) (void)arm(timer_.get(), {silent_until_.ns + kCommitNs});
}

std::size_t Ring::drain(const std::function<void(Event)>& deliver, std::size_t max_records) {
  if (max_records == 0) return 0;
  std::uint64_t expirations = 0;
  const bool was_time = ::read(timer_.get(), &expirations, sizeof(expirations)) > 0;
  deliver_ = &deliver;
  taken_ = 0;
  max_records_ = max_records;
  ring_buffer__consume(buffer_);
  deliver_ = nullptr;
  if (taken_ > 0) {
    read_again_later();
  } else if (was_time) {
    read_once_more();
  }
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
