// SPDX-License-Identifier: Apache-2.0
#include "facts/call_sites.h"

#include <algorithm>

namespace oomw {

std::string without_type_arguments(std::string_view function) {
  const std::size_t open = function.find('['), close = function.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::string(function);
  return std::string(function.substr(0, open)) + "[...]" + std::string(function.substr(close + 1));
}

std::string_view outside_literals(std::string_view function) {
  std::size_t end = function.size();
  for (;;) {
    const std::size_t dot = function.substr(0, end).rfind('.');
    if (dot == std::string_view::npos || dot + 1 >= end) return function.substr(0, end);
    std::string_view part = function.substr(dot + 1, end - dot - 1);
    if (part.starts_with("func")) part.remove_prefix(4);
    if (part.starts_with("gowrap")) part.remove_prefix(6);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) return function.substr(0, end);
    end = dot;
  }
}

bool is_literal(std::string_view function) { return outside_literals(function).size() < function.size(); }

CallSites::Key CallSites::key_of(const Call& call) {
  if (call.caller.find('[') == std::string_view::npos) return {"", call.location};
  return {without_type_arguments(call.caller), static_cast<std::uint64_t>(call.line)};
}

void CallSites::add(const Call& call) {
  Key key = key_of(call);
  if (sites_.size() >= kMaxSites && !sites_.contains(key)) return;
  std::vector<Callee>& callees = sites_[std::move(key)];
  std::string name = without_type_arguments(call.callee);
  const bool is_known = std::ranges::any_of(callees, [&](const Callee& known) {
    return known.caller_function == call.caller_function && known.name == name;
  });
  if (!is_known && callees.size() < kMaxCallees) callees.push_back({call.caller_function, std::move(name)});
}

bool CallSites::is_by_value(const Call& call) const {
  const Key key = key_of(call);
  const auto site = sites_.find(key);
  if (site == sites_.end()) return false;
  const std::string name = without_type_arguments(call.callee);
  const bool is_generic = !key.first.empty();
  bool has_others = false;
  for (const Callee& other : site->second) {
    const bool is_same_code = other.caller_function == call.caller_function;
    if (is_generic && is_same_code != (other.name == name)) return false;
    has_others |= other.name != name;
  }
  return has_others;
}

}  // namespace oomw
