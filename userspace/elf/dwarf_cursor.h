// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace oomw::elf {

// How .eh_frame writes an address (DW_EH_PE_*): the lower half says how long, the upper half what it is relative to.
inline constexpr std::uint8_t kPointerOmitted = 0xff;

// Takes apart bytes that may be anything. After the first item that is not there, all are 0 and is_good() is false.
class DwarfCursor {
 public:
  explicit DwarfCursor(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] bool at_end() const { return !is_good_ || position_ == bytes_.size(); }
  [[nodiscard]] std::size_t position() const { return position_; }

  template <typename T>
  [[nodiscard]] T number() {
    T value{};
    const std::span<const std::uint8_t> taken = take(sizeof(T));
    if (!taken.empty()) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::uint8_t byte() { return number<std::uint8_t>(); }
  [[nodiscard]] std::uint64_t uleb() { return leb(nullptr); }
  [[nodiscard]] std::int64_t sleb() {
    unsigned bits = 0;
    const std::uint64_t value = leb(&bits);
    const bool is_negative = bits < 64 && bits > 0 && (value >> (bits - 1) & 1) != 0;
    return static_cast<std::int64_t>(is_negative ? value | ~std::uint64_t{0} << bits : value);
  }
  // Points into the bytes; up to the NUL, which is skipped.
  [[nodiscard]] std::string_view text() {
    const std::size_t begin = position_;
    while (is_good_ && byte() != 0) {
    }
    if (!is_good_) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, position_ - begin - 1};
  }
  [[nodiscard]] std::span<const std::uint8_t> take(std::uint64_t size) {
    is_good_ = is_good_ && size <= bytes_.size() - position_;
    if (!is_good_) return {};
    const std::span<const std::uint8_t> taken = bytes_.subspan(position_, size);
    position_ += size;
    return taken;
  }
  void skip(std::uint64_t size) { (void)take(size); }

  // here: address of the first of the bytes; data: what "relative to the data" means.
  [[nodiscard]] std::uint64_t pointer(std::uint8_t encoding, std::uint64_t here, std::uint64_t data) {
    const std::uint64_t place = here + position_;
    const std::uint64_t value = plain_pointer(encoding);
    switch (encoding & 0x70) {
      case 0x00:
        return value;
      case 0x10:
        return value + place;
      case 0x30:
        return value + data;
      default:
        is_good_ = false;
        return 0;
    }
  }

 private:
  std::uint64_t leb(unsigned* bits) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && is_good_; shift += 7) {
      const std::uint8_t one = byte();
      if (shift < 64) value |= static_cast<std::uint64_t>(one & 0x7f) << shift;
      if ((one & 0x80) != 0) continue;
      if (bits != nullptr) *bits = shift + 7;
      return value;
    }
    is_good_ = false;
    return 0;
  }

  std::uint64_t plain_pointer(std::uint8_t encoding) {
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return number<std::uint64_t>();
      case 0x01:
        return uleb();
      case 0x02:
        return number<std::uint16_t>();
      case 0x03:
        return number<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(sleb());
      case 0x0a:
        return static_cast<std::uint64_t>(std::int64_t{number<std::int16_t>()});
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{number<std::int32_t>()});
      default:
        is_good_ = false;
        return 0;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
  bool is_good_ = true;
};

}  // namespace oomw::elf
