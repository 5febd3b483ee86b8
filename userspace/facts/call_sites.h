// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oomw {

// "main.create[...].func1" of "main.create[go.shape.struct { ... }].func1", as Go itself prints it.
[[nodiscard]] std::string without_type_arguments(std::string_view function);

// "main.routes" of "main.routes.func2.1": the function that a literal is written in.
[[nodiscard]] std::string_view outside_literals(std::string_view function);
[[nodiscard]] bool is_literal(std::string_view function);

// Which calls of one profile's stacks are made through a value, so that what runs below is chosen at run time: a
// middleware calls its next handler so, an adapter the function that it was made with.
//   Plain code: one call instruction with several callees.
//   Generic code: every instantiation has an instruction of its own, so the same line of several of them is compared;
//   what two instantiations call is an ordinary call, and a line that makes several calls is not decided on.
// Bounded: sites and callees beyond the maximum are left out, and their calls then count as ordinary.
class CallSites {
 public:
  // A function as far as calls are concerned. Made once a function: names may be long, and no copy is kept.
  struct Function {
    std::uint64_t id = 0;    // in the profile: an instantiation has its own
    std::uint64_t name = 0;  // a hash, the same for all instantiations
    bool is_generic = false;
  };
  [[nodiscard]] static Function function_of(std::uint64_t id, std::string_view name);

  struct Call {
    std::uint64_t location = 0;  // of the call instruction
    std::int64_t line = 0;
    Function caller, callee;
  };
  void add(const Call& call);
  [[nodiscard]] bool is_by_value(const Call& call) const;

 private:
  static constexpr std::size_t kMaxSites = 4096, kMaxCallees = 32;
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // 0 and the location; of generic code its name and the line
  struct Callee {
    std::uint64_t caller;  // the instantiation
    std::uint64_t name;
    friend bool operator==(const Callee&, const Callee&) = default;
  };
  [[nodiscard]] static Key key_of(const Call& call);

  std::map<Key, std::vector<Callee>> sites_;
};

}  // namespace oomw
