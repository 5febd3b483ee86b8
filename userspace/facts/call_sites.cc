// SPDX-License-Identifier: Apache-2.0
#include "facts/call_sites.h"

#include <algorithm>
#include <functional>

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

CallSites::Function CallSites::function_of(std::uint64_t id, std::string_view name) {
  const std::size_t open = name.find('['), close = name.rfind(']');
  const bool is_generic = open != std::string_view::npos && close != std::string_view::npos && open < close;
  const std::hash<std::string_view> hash;
  if (!is_generic) return {id, hash(name), false};
  return {id, hash(name.substr(0, open)) ^ (3 * hash(name.substr(close))), true};
}

CallSites::Key CallSites::key_of(const Call& call) {
  if (!call.caller.is_generic) return {0, call.location};
  return {call.caller.name, static_cast<std::uint64_t>(call.line)};
}

void CallSites::add(const Call& call) {
  const Key key = key_of(call);
  if (sites_.size() >= kMaxSites && !sites_.contains(key)) return;
  std::vector<Callee>& callees = sites_[key];
  const Callee callee{call.caller.id, call.callee.name};
  if (callees.size() < kMaxCallees && std::ranges::find(callees, callee) == callees.end()) callees.push_back(callee);
}

bool CallSites::is_by_value(const Call& call) const {
  const auto site = sites_.find(key_of(call));
  if (site == sites_.end()) return false;
  bool has_others = false;
  for (const Callee& other : site->second) {
    const bool is_same_name = other.name == call.callee.name;
    if (call.caller.is_generic && (other.caller == call.caller.id) != is_same_name) return false;
    has_others |= !is_same_name;
  }
  return has_others;
}

}  // namespace oomw
