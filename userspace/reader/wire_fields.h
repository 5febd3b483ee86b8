// SPDX-License-Identifier: Apache-2.0
// Messages between the daemon and its reader by the descriptions of events/json_fields.h: members one after the other,
// without names. Both ends bound each member by what is said beside it (base/bounds.h): texts become printable and are
// cut, numbers lie in their range. The writer leaves out what is too much of a list; to the reader such a list, a name
// of no set, a number that does not fit its type or an end before the end is no message. A text or a list described
// without a bound does not compile. A list grows as its items arrive, so what is decoded takes no more memory than its
// message is worth. For .cc files.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "base/text.h"
#include "reader/wire.h"

namespace oomw::reader {

namespace wire_fields {

struct None {};

template <typename T>
concept IsNamed = requires(T& value) {
  read_name(std::string_view(), value);
};
template <typename T>
concept IsTime = std::same_as<T, MonotonicTime> || std::same_as<T, WallTime>;

constexpr None bound_in() { return {}; }
template <typename First, typename... Rest>
constexpr auto bound_in(First first, Rest... rest) {
  if constexpr (Bound<First>) {
    return first;
  } else {
    return bound_in(rest...);
  }
}

inline double bounded(double value, None) { return value; }
inline double bounded(double value, Ratio) { return value >= 0 ? std::min(value, 1.0) : 0; }
inline bool is_known(const auto&, auto) { return true; }
inline bool is_known(double value, Within range) { return value >= range.low && value <= range.high; }
inline double bounded(double value, Within range) { return is_known(value, range) ? value : 0; }

}  // namespace wire_fields

// Format: as for a JsonWriter; only the place of its describe() functions counts.
template <typename Format>
class FieldsWriter {
 public:
  static constexpr bool kIsReader = false;
  explicit FieldsWriter(WireWriter& out) : out_(out) {}

  template <typename T, typename... Rest>
  void operator()(const char*, const T& value, Rest... rest) {
    put(value, wire_fields::bound_in(rest...));
  }

 private:
  template <typename T, typename B>
  void put(const T& value, B bound) {
    if constexpr (std::floating_point<T>) {
      out_.number(std::bit_cast<std::uint64_t>(wire_fields::bounded(value, bound)));
    } else if constexpr (std::integral<T>) {
      out_.number(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_enum_v<T> && std::same_as<B, UpTo<T>>) {
      out_.number(static_cast<std::uint64_t>(value));
    } else if constexpr (wire_fields::IsNamed<T>) {
      out_.text(to_string(value));
    } else if constexpr (std::same_as<T, std::string>) {
      static_assert(std::same_as<B, Chars>, "a text without a bound");
      out_.text(printable(value, bound.most));
    } else if constexpr (std::same_as<T, Nanoseconds>) {
      out_.number(static_cast<std::uint64_t>(value.count()));
    } else if constexpr (wire_fields::IsTime<T>) {
      out_.number(static_cast<std::uint64_t>(value.ns));
    } else {
      describe(*this, value);
    }
  }
  template <typename T, typename B>
  void put(const std::optional<T>& value, B bound) {
    const bool is_known = value && wire_fields::is_known(*value, bound);
    out_.number(is_known ? 1 : 0);
    if (is_known) put(*value, bound);
  }
  template <typename T, typename B>
  void put(const std::vector<T>& values, B bound) {
    static_assert(std::same_as<B, Items>, "a list without a bound");
    const std::size_t count = std::min(values.size(), bound.most);
    out_.number(count);
    for (std::size_t i = 0; i < count; ++i) put(values[i], Chars{bound.chars});
  }

  WireWriter& out_;
};

template <typename Format>
class FieldsReader {
 public:
  static constexpr bool kIsReader = true;
  explicit FieldsReader(WireReader& in) : in_(in) {}

  template <typename T, typename... Rest>
  void operator()(const char*, T& value, Rest... rest) {
    get(value, wire_fields::bound_in(rest...));
  }

 private:
  template <typename T, typename B>
  void get(T& value, B bound) {
    if constexpr (std::floating_point<T>) {
      const auto number = std::bit_cast<double>(in_.number());
      value = wire_fields::bounded(number, bound);
      if (!std::isfinite(value)) in_.refuse();
    } else if constexpr (std::integral<T>) {
      get_integer(value);
    } else if constexpr (std::is_enum_v<T> && std::same_as<B, UpTo<T>>) {
      const std::uint64_t number = in_.number();
      if (number > static_cast<std::uint64_t>(bound.last)) in_.refuse();
      value = in_.is_good() ? static_cast<T>(number) : T{};
    } else if constexpr (wire_fields::IsNamed<T>) {
      const std::string_view name = in_.text();
      if (name.empty() ? !to_string(T{}).empty() : !read_name(name, value)) in_.refuse();
      if (name.empty()) value = T{};
    } else if constexpr (std::same_as<T, std::string>) {
      static_assert(std::same_as<B, Chars>, "a text without a bound");
      value = printable(in_.text(), bound.most);
    } else if constexpr (std::same_as<T, Nanoseconds>) {
      value = Nanoseconds(in_.signed_number());
    } else if constexpr (wire_fields::IsTime<T>) {
      value = {in_.signed_number()};
    } else {
      describe(*this, value);
    }
  }
  template <typename T, typename B>
  void get(std::optional<T>& value, B bound) {
    value.reset();
    bool is_known = false;
    get_integer(is_known);
    if (!is_known) return;
    get(value.emplace(), bound);
    if (!wire_fields::is_known(*value, bound)) value.reset();
  }
  template <typename T, typename B>
  void get(std::vector<T>& values, B bound) {
    static_assert(std::same_as<B, Items>, "a list without a bound");
    values.clear();
    for (std::uint64_t left = count_of(bound); left > 0 && in_.is_good(); --left) {
      get(values.emplace_back(), Chars{bound.chars});  // of texts
    }
  }
  std::uint64_t count_of(Items bound) {
    const std::uint64_t count = in_.number();
    if (count > bound.most) in_.refuse();
    return count;
  }
  template <typename T>
  void get_integer(T& value) {
    const std::uint64_t number = in_.number();
    if constexpr (std::same_as<T, bool>) {
      if (number > 1) in_.refuse();
    } else if constexpr (std::is_signed_v<T>) {
      if (!std::in_range<T>(static_cast<std::int64_t>(number))) in_.refuse();
    } else {
      if (!std::in_range<T>(number)) in_.refuse();
    }
    value = in_.is_good() ? static_cast<T>(number) : T{};
  }

  WireReader& in_;
};

template <typename Format, typename T>
void write_fields(WireWriter& out, const T& value) {
  FieldsWriter<Format> fields(out);
  describe(fields, value);
}

// What is missing or refused is as T{} has it; the caller asks in.is_complete().
template <typename Format, typename T>
[[nodiscard]] T read_fields(WireReader& in) {
  T value;
  FieldsReader<Format> fields(in);
  describe(fields, value);
  return value;
}

template <typename Format, typename T>
[[nodiscard]] std::string to_wire(const T& value) {
  WireWriter out;
  write_fields<Format>(out, value);
  return out.take();
}

// kInvalid: not that, whole and nothing else.
template <typename Format, typename T>
[[nodiscard]] Result<T> from_wire(std::string_view bytes) {
  WireReader in(bytes);
  T value = read_fields<Format, T>(in);
  if (!in.is_complete()) return fail(ErrorCode::kInvalid, "the reader answered something else");
  return value;
}

}  // namespace oomw::reader
