// SPDX-License-Identifier: Apache-2.0
#include "facts/operation.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "facts/component_group.h"
#include "facts/go_package.h"
#include "pprof/frame_names.h"

namespace oomw {
namespace {

using Frame = StackReader::Frame;

// Modules have a host's name with a dot in front; the standard library has none.
bool is_standard_package(std::string_view package) {
  if (package == "main" || package.starts_with("main/")) return false;
  return package.substr(0, package.find('/')).find('.') == std::string_view::npos;
}

// "Greeter/SayHello" of "example.org/pb._Greeter_SayHello_Handler" and of closures in it; "" = something else.
std::string rpc_method_of(std::string_view function) {
  constexpr std::string_view kEnd = "_Handler";
  const std::string_view package = go_package_of(function);
  std::string_view name = function.substr(std::min(package.size() + 1, function.size()));
  name = name.substr(0, name.find('.'));
  if (!name.starts_with('_') || !name.ends_with(kEnd) || name.size() <= kEnd.size() + 1) return "";
  name = name.substr(1, name.size() - 1 - kEnd.size());
  const std::size_t gap = name.find('_');
  if (gap == 0 || gap == std::string_view::npos || gap + 1 == name.size()) return "";
  return std::string(name.substr(0, gap)) + "/" + std::string(name.substr(gap + 1));
}

bool is_code(const Frame& frame) { return frame.role == FrameRole::kCode; }

bool is_serve_http(std::string_view function) { return function.ends_with(".ServeHTTP"); }

// Code of these shapes may stand between a dispatcher and a handler; a plain function or method is the handler itself.
bool has_shape_of_middleware(std::string_view function) { return is_literal(function) || is_serve_http(function); }

bool passes_on(const Frame& caller, const Frame& callee) {
  if (!caller.may_pass_on || !is_code(callee)) return false;
  if (is_serve_http(callee.function) || caller.calls_by_value) return true;
  // Nothing stands between two literals of different functions, so the first has the second as a value.
  return is_literal(caller.function) && is_literal(callee.function) &&
         outside_literals(caller.function) != outside_literals(callee.function);
}

// Middleware calls the next handler directly, and adapters what they were made for.
std::size_t below_middleware(const std::vector<Frame>& stack, std::size_t at) {
  while (at > 0 && passes_on(stack[at], stack[at - 1])) --at;
  return at;
}

// The index of the handler that a dispatcher called.
std::optional<std::size_t> handler_of(const std::vector<Frame>& stack) {
  std::optional<std::size_t> nearest;  // the code frame next to the leaf's side of what was passed
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (is_code(stack[i])) nearest = i;
    if (stack[i].role == FrameRole::kDispatcher && nearest) return below_middleware(stack, *nearest);
  }
  return std::nullopt;
}

// The code frame next to the root.
std::optional<std::size_t> first_code_of(const std::vector<Frame>& stack) {
  for (std::size_t i = stack.size(); i-- > 0;) {
    if (is_code(stack[i])) return i;
  }
  return std::nullopt;
}

// The generated handler of a gRPC method: a request's message is allocated below it before any other code runs.
std::optional<std::size_t> generated_of(const std::vector<Frame>& stack) {
  const auto found = std::ranges::find(stack, FrameRole::kGenerated, &Frame::role);
  if (found == stack.end()) return std::nullopt;
  return static_cast<std::size_t>(found - stack.begin());
}

// The kind of a handler: what the innermost dispatcher above it calls.
std::string kind_of_handler(const std::vector<Frame>& stack, std::size_t handler) {
  const auto dispatcher = std::find_if(stack.begin() + static_cast<std::ptrdiff_t>(handler) + 1, stack.end(),
                                       [](const Frame& frame) { return frame.role == FrameRole::kDispatcher; });
  return dispatcher == stack.end() ? "endpoint" : std::string(dispatcher->calls);
}

// A goroutine's literal belongs to the function that starts it. A handler's keeps its number: routes are often set up
// in one function, each with a literal of it.
Operation job_of(const Frame& frame) { return {"job", printable_function(outside_literals(frame.function))}; }

}  // namespace

std::string printable_function(std::string_view function) {
  return printable(without_type_arguments(function), kMaxCodeName);
}

FrameRole role_of(std::string_view function, const OperationPatterns& patterns) {
  if (!patterns.called_by_go(function).empty()) return FrameRole::kDispatcher;
  if (is_standard_package(go_package_of(function))) return FrameRole::kStandard;
  if (!rpc_method_of(function).empty()) return FrameRole::kGenerated;
  return patterns.is_go_library(function) ? FrameRole::kLibrary : FrameRole::kCode;
}

Frame go_frame_of(std::string_view function, const OperationPatterns& patterns) {
  Frame frame;
  frame.function = function;
  frame.role = role_of(function, patterns);
  if (frame.role == FrameRole::kDispatcher) frame.calls = patterns.called_by_go(function);
  frame.may_pass_on = is_code(frame) && has_shape_of_middleware(function);
  return frame;
}

std::string_view program_prefix(std::string_view function) {
  const std::string_view package = go_package_of(function);
  // The hosts of many owners have the owner's name next and then the project's.
  constexpr std::array<std::string_view, 4> kShared = {"github.com/", "gitlab.com/", "bitbucket.org/", "codeberg.org/"};
  const bool is_shared = std::ranges::any_of(kShared, [&](std::string_view host) { return package.starts_with(host); });
  std::size_t end = 0;
  for (int part = 0; part < (is_shared ? 3 : 2) && end < package.size(); ++part) {
    end = std::min(package.find('/', end + 1), package.size());
  }
  return package.substr(0, end);
}

StackReader::StackReader(const pprof::Profile& profile, const OperationPatterns& patterns) {
  for (const pprof::Function& function : profile.functions) {
    Frame frame = go_frame_of(function.name, patterns);
    frame.file = function.filename;
    if (is_code(frame)) frame.called = CallSites::function_of(function.id, function.name);
    if (pprof::Group component = component_group_of(function.name); !component.name.empty()) {
      frame.component = &components_.emplace_back(std::move(component));
    }
    functions_.try_emplace(function.id, frame);
  }
  for (const pprof::Location& location : profile.locations) locations_.try_emplace(location.id, &location);
  note_calls(profile);
}

void StackReader::note_calls(const pprof::Profile& profile) {
  pprof::FrameBudget budget;
  for (const pprof::Sample& sample : profile.samples) {
    if (!budget.take(sample.location_ids.size())) return;
    const Frame* callee = nullptr;
    for (const std::uint64_t id : sample.location_ids) {
      const auto location = locations_.find(id);
      if (location == locations_.end() || location->second->lines.empty()) continue;
      const auto& lines = location->second->lines;
      const auto caller = functions_.find(lines.front().function_id);
      if (callee != nullptr && is_code(*callee) && caller != functions_.end() && caller->second.may_pass_on) {
        calls_.add({id, lines.front().line, caller->second.called, callee->called});
      }
      const auto next = functions_.find(lines.back().function_id);
      callee = next == functions_.end() ? nullptr : &next->second;
    }
  }
}

std::vector<Frame> StackReader::frames_of(const pprof::Sample& sample) const {
  std::vector<Frame> frames;
  for (const std::uint64_t id : sample.location_ids) {
    const auto location = locations_.find(id);
    if (location == locations_.end()) continue;
    for (const pprof::Line& line : location->second->lines) {
      const auto function = functions_.find(line.function_id);
      if (function == functions_.end()) continue;
      if (frames.size() >= kMaxFrames) return frames;
      Frame frame = function->second;
      frame.line = line.line;
      if (&line == &location->second->lines.front() && !frames.empty() && frame.may_pass_on && is_code(frames.back())) {
        frame.calls_by_value = calls_.is_by_value({id, line.line, frame.called, frames.back().called});
      }
      frames.push_back(frame);
    }
  }
  return frames;
}

std::optional<Operation> operation_of(const std::vector<Frame>& stack) {
  const pprof::Group* helper = nullptr;
  for (const Frame& frame : stack) {
    if (frame.component == nullptr) continue;
    if (!frame.component->is_helper) return Operation{"component", frame.component->name};
    if (helper == nullptr) helper = frame.component;
  }
  if (helper != nullptr) return Operation{"component", helper->name};
  for (const Frame& frame : stack) {
    if (frame.role == FrameRole::kGenerated)
      return Operation{"method", printable(rpc_method_of(frame.function), kMaxCodeName)};
  }
  if (const auto handler = handler_of(stack)) {
    std::string kind = kind_of_handler(stack, *handler);
    return kind == "job" ? job_of(stack[*handler])
                         : Operation{std::move(kind), printable_function(stack[*handler].function)};
  }
  const auto first = first_code_of(stack);
  if (!first || stack[*first].function == "main.main" || stack[*first].function.starts_with("main.init")) {
    return std::nullopt;
  }
  return job_of(stack[*first]);
}

std::vector<std::size_t> own_frames_of(const std::vector<Frame>& stack) {
  auto basis = handler_of(stack);
  if (!basis) basis = first_code_of(stack);
  if (!basis) {
    const auto generated = generated_of(stack);
    return generated ? std::vector{*generated} : std::vector<std::size_t>{};
  }
  const std::string_view prefix = program_prefix(stack[*basis].function);
  std::vector<std::size_t> frames;
  for (std::size_t i = 0; i <= *basis; ++i) {
    if (!is_code(stack[i])) continue;
    const std::string_view own = program_prefix(stack[i].function);
    const bool is_own = own == prefix || own == "main";
    if (is_own && (frames.empty() || stack[frames.back()].function != stack[i].function)) frames.push_back(i);
  }
  return frames;
}

}  // namespace oomw
