// SPDX-License-Identifier: Apache-2.0
#include "kernel/ring.h"

#include <cerrno>
#include <span>

#include <bpf/libbpf.h>

#include "events/decode.h"

namespace oomw {

Result<std::unique_ptr<Ring>> Ring::make(int map_fd) {
  std::unique_ptr<Ring> ring(new Ring());
  ring->buffer_ = ring_buffer__new(map_fd, &Ring::on_record, ring.get(), nullptr);
  if (ring->buffer_ == nullptr) return fail_errno(errno, "mapping the ring buffer");
  return ring;
}

Ring::~Ring() { ring_buffer__free(buffer_); }

int Ring::epoll_fd() const { return ring_buffer__epoll_fd(buffer_); }

std::size_t Ring::drain(const std::function<void(Event)>& deliver, std::size_t max_records) {
  if (max_records == 0) return 0;
  deliver_ = &deliver;
  taken_ = 0;
  max_records_ = max_records;
  ring_buffer__consume(buffer_);
  deliver_ = nullptr;
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
