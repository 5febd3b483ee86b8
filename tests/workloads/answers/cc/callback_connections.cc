// SPDX-License-Identifier: Apache-2.0
// A connection's own callback holds the connection: nobody else knows it any more, and it stays.
#include <functional>
#include <memory>
#include <vector>

#include "pace.h"

namespace proxy {

class Stream {
 public:
  virtual ~Stream() = default;
  virtual void close() = 0;
};

class Connection : public Stream, public std::enable_shared_from_this<Connection> {
 public:
  void open(long number) {
    buffer_.assign(2600, static_cast<char>(number));
    on_close_ = [self = shared_from_this()] { self->buffer_.clear(); };
  }
  void close() override { is_closed_ = true; }

 private:
  std::vector<char> buffer_;
  std::function<void()> on_close_;
  bool is_closed_ = false;
};

__attribute__((noinline)) void accept_connection(long number) {
  auto connection = std::make_shared<Connection>();
  connection->open(number);
  connection->close();
}

}  // namespace proxy

int main() {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 900, number); number < due; ++number) proxy::accept_connection(number);
  }
}
