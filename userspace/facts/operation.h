// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "facts/call_sites.h"
#include "facts/operation_patterns.h"
#include "pprof/group.h"
#include "pprof/profile.h"

namespace oomw {

// What the memory of a stack was allocated for.
struct Operation {
  std::string kind;  // endpoint | method | component | job
  std::string name;  // endpoint, job: a function; method: "Service/Method"; component: "receiver/otlp"
  friend bool operator==(const Operation&, const Operation&) = default;
};

inline constexpr std::size_t kMaxCodeName = 160;  // of functions, files and operations, as they are shown
// A function's name fit to be shown, without type arguments.
[[nodiscard]] std::string printable_function(std::string_view function);

// What one Go function's name shows about its place in a program.
enum class FrameRole : std::uint8_t {
  kStandard,    // the standard library and the runtime
  kDispatcher,  // calls the program's handlers: a server's router, a scheduler of jobs
  kLibrary,     // a well-known module that no program is named after
  kGenerated,   // a gRPC method's generated handler: "_Greeter_SayHello_Handler"
  kCode,        // the program's own, or a module that it uses: program_prefix() tells them apart
};
[[nodiscard]] FrameRole role_of(std::string_view function, const OperationPatterns& patterns = {});

// The path that a program's own packages begin with: "main" for package main, "github.com/acme/shop" for
// "github.com/acme/shop/cart.(*Store).Put", "example.org/x" for "example.org/x/y.F".
[[nodiscard]] std::string_view program_prefix(std::string_view function);

// Reads one profile's stacks; roles are worked out once per function. Pure. Takes names as they are in the profile:
// hostile, so they go through printable() before they leave.
class StackReader {
 public:
  // The profile outlives this; the patterns need not.
  explicit StackReader(const pprof::Profile& profile, const OperationPatterns& patterns = {});

  struct Frame {
    std::string_view function;
    std::string_view file;
    std::int64_t line = 0;
    FrameRole role = FrameRole::kCode;
    std::string_view calls;                   // a dispatcher's: endpoint | method | job
    bool may_pass_on = false;                 // code of the shape that middleware and adapters have
    bool calls_by_value = false;              // the next frame towards the leaf was chosen at run time (call_sites.h)
    CallSites::Function called;               // the function again, for call_sites.h
    const pprof::Group* component = nullptr;  // of a Collector (component_group.h); owned by the reader
  };
  // Leaf first, inlined calls as frames of their own; at most kMaxFrames, those next to the root are dropped.
  static constexpr std::size_t kMaxFrames = 512;
  [[nodiscard]] std::vector<Frame> frames_of(const pprof::Sample& sample) const;

 private:
  // Which calls are made through values: from code that may be middleware only.
  void note_calls(const pprof::Profile& profile);

  std::deque<pprof::Group> components_;
  std::unordered_map<std::uint64_t, Frame> functions_;
  std::unordered_map<std::uint64_t, const pprof::Location*> locations_;
  CallSites calls_;
};

// The operation of a stack, leaf first:
//   a Collector's component, innermost first (collector_components.h);
//   a gRPC method, by its generated handler;
//   the first frame of other code below the innermost dispatcher that has one. A function literal or a ServeHTTP method
//   there may be middleware or an adapter, so it is passed while it calls a ServeHTTP, a literal of another function,
//   or a function that was chosen at run time; else the function that its goroutine began with, unless that is
//   main.main.
[[nodiscard]] std::optional<Operation> operation_of(const std::vector<StackReader::Frame>& stack);

// A frame of a stack that is in no profile, by its function's name alone. Borrows the name.
[[nodiscard]] StackReader::Frame go_frame_of(std::string_view function, const OperationPatterns& patterns);

// The program's own frames as indices in `stack`, from that nearest to the allocation outwards, until the operation's
// function; a function that calls itself once. Own code is package main and what shares the prefix of the operation's
// function, or else of the code nearest the root. Empty: the stack has no code but the standard library's and
// well-known modules'.
[[nodiscard]] std::vector<std::size_t> own_frames_of(const std::vector<StackReader::Frame>& stack);

}  // namespace oomw
