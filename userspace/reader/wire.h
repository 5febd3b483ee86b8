// SPDX-License-Identifier: Apache-2.0
// The payloads of messages between the daemon and its reader: numbers and strings, one after the other, in the byte
// order of the machine. Both ends are the same program, so there are no versions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace oomw::reader {

class WireWriter {
 public:
  WireWriter& number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  WireWriter& text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Takes apart what may be anything: the reader that wrote it may be in the hands of what it read. After the first item
// that is not there, all are 0 or "" and is_good() is false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  // Points into the message.
  [[nodiscard]] std::string_view text() { return take(number()); }
  // What was read cannot be what is meant.
  void refuse() { is_good_ = false; }
  // Every item was there, and nothing else is.
  [[nodiscard]] bool is_complete() const { return is_good_ && rest_.empty(); }
  [[nodiscard]] bool is_good() const { return is_good_; }

 private:
  std::string_view take(std::uint64_t size) {
    is_good_ = is_good_ && size <= rest_.size();
    if (!is_good_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace oomw::reader
