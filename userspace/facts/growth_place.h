// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "events/growth_profile.h"
#include "facts/operation.h"

namespace oomw {

// Whose code a stack of growth is.
struct GrowthPlace {
  static constexpr std::size_t kMaxCallers = 2;

  std::string function;  // the program's own that is nearest to the allocation; "" = the stack shows none
  std::string code;      // the same with its place: "generate (app.py:41)"
  std::string module;    // of native and Go code: the mapped file's name
  // Of native and Go code: the program's own functions that called it, the nearest first. A helper allocates for
  // whoever calls it.
  std::vector<std::string> callers;
  std::optional<Operation> operation;
  // What the program's own frames refer to, with their file; up to the operation's frame.
  std::set<std::pair<std::string, std::string>> uses;
  bool is_collector = false;  // a garbage collector's thread: whose code it worked for is not in the stack
};

// The operation is the program's own frame that a known framework called last: a view, a servlet, a task. Threads and
// event loops call anything, so a function that only they called is not an operation. For Go frames, the
// program's own code and the operation are found by the rules for heap profiles (operation.h). Pure. The returned
// strings are printable.
[[nodiscard]] GrowthPlace place_of(const GrowthStack& stack, const OperationPatterns& patterns = {});
// "generate (app.py:41)", "Session::put (shop)".
[[nodiscard]] std::string text_of(const GrowthFrame& frame);

}  // namespace oomw
