// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/enum_names.h"
#include "incident/incident.h"

namespace oomw {

// What the victim was written in, as far as that decides which advice fits.
enum class Language : std::uint8_t { kUnknown, kGo, kPython, kJava, kNode };
template <>
inline constexpr auto kEnumNames<Language> = std::to_array<std::string_view>({"unknown", "go", "python", "java",
                                                                              "node"});

// By what was read of it, else by the program's name; a guess, for advice alone. Pure.
[[nodiscard]] Language language_of(const Incident& incident);
// How to learn, while the next run lives, which code holds the memory: a sentence and a command. "" = see the node's
// own means (oomwitness doctor).
struct HeapAdvice {
  std::string_view what, command;
};
[[nodiscard]] HeapAdvice heap_advice(Language language);

}  // namespace oomw
