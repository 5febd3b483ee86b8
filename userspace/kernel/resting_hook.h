// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>
#include <utility>

#include "base/result.h"

namespace oomw {

struct LoadedProgram;

// A program on a raw tracepoint that can be detached and attached again, because the hook costs every task that passes
// it even where there is nothing to see. Maps and the loaded program stay. Core thread only.
class RestingHook {
 public:
  // program outlives this and is attached.
  RestingHook(LoadedProgram& program, std::string tracepoint) : program_(program), tracepoint_(std::move(tracepoint)) {}

  [[nodiscard]] bool is_attached() const;
  // Takes 1 ms: the kernel patches its code. Waits for a detach() under way, since a kernel before 6.10 does not attach
  // a program twice.
  [[nodiscard]] Result<> attach();
  // Runs on its own thread: the kernel waits until no CPU runs the program, 10 ms, or 90 ms on a busy machine.
  void detach();

 private:
  LoadedProgram& program_;
  std::string tracepoint_;
  std::jthread detaching_;
};

}  // namespace oomw
