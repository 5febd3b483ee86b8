// SPDX-License-Identifier: Apache-2.0
// One table of names per enum, for both directions. Specialise kEnumNames beside the enum:
//   template <> inline constexpr auto kEnumNames<Color> = std::to_array<std::string_view>({"red", "green"});
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>

namespace oomw {

// In the order of the values, which count from 0.
template <typename E>
inline constexpr std::array<std::string_view, 0> kEnumNames{};

template <typename E>
concept NamedEnum = std::is_enum_v<E> &&(kEnumNames<E>.size() > 0);

template <NamedEnum E>
[[nodiscard]] constexpr std::string_view to_string(E value) {
  return kEnumNames<E>[static_cast<std::size_t>(value)];
}

// False: `name` is not one of E's names, and `value` is unchanged.
template <NamedEnum E>
[[nodiscard]] constexpr bool read_name(std::string_view name, E& value) {
  const auto found = std::ranges::find(kEnumNames<E>, name);
  if (found == kEnumNames<E>.end()) return false;
  value = static_cast<E>(found - kEnumNames<E>.begin());
  return true;
}

}  // namespace oomw
