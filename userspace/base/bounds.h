// SPDX-License-Identifier: Apache-2.0
// What a member may hold, said beside it where it is described (events/json_fields.h): a("chain", e.chain, Items{16,
// 200}). JSON files are bounded as a whole and pass over it; a message between processes is bounded member by member
// (reader/wire_fields.h).
#pragma once

#include <concepts>
#include <cstddef>

namespace oomw {

struct Chars {  // of a text, printable ones
  std::size_t most;
};

struct Items {  // of a list; of texts: of so many characters each
  std::size_t most;
  std::size_t chars = 0;
};

struct Ratio {};  // 0 to 1; what is not becomes the nearer end, no number 0

struct Within {  // a number that is not has no value, or is 0
  double low, high;
};

template <typename Enum>
struct UpTo {  // of a closed set without names
  Enum last;
};
template <typename Enum>
UpTo(Enum) -> UpTo<Enum>;  // clang 14 deduces no aggregate's

namespace bounds {
template <typename T>
inline constexpr bool kIsOne =
    std::same_as<T, Chars> || std::same_as<T, Items> || std::same_as<T, Ratio> || std::same_as<T, Within>;
template <typename Enum>
inline constexpr bool kIsOne<UpTo<Enum>> = true;
}  // namespace bounds

template <typename T>
concept Bound = bounds::kIsOne<T>;

// Of a visitor for which they mean nothing; it says `using PassesOverBounds<Itself>::operator();`.
template <typename Visitor>
struct PassesOverBounds {
  template <typename T, Bound B, typename... Presence>
  void operator()(const char* name, T& value, B, Presence... presence) {
    static_cast<Visitor&> (*this)(name, value, presence...);
  }
};

}  // namespace oomw
