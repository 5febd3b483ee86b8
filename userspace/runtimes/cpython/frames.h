// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/cpython/objects.h"
#include "runtimes/cpython/pools.h"

namespace oomw::cpython {

// A call that has not returned.
struct Frame {
  std::string function, module;                               // "" if it is no identifier, as of a module's own code
  std::vector<std::pair<std::string, std::uint64_t>> locals;  // addresses of objects, not checked
  std::uint64_t previous = 0;                                 // its caller's
};

// Frames of 3.11 and later: the code and the globals that one refers to are where they are in one of the layouts, and
// the code has as many names of variables as kinds of them. Bounded. Borrows the reader.
class FrameReader {
 public:
  static constexpr std::size_t kMaxCodes = 4096, kMaxVariables = 256;

  FrameReader(ObjectReader& objects, const TypeTable& types) : objects_(objects), types_(types) {}
  [[nodiscard]] std::optional<Frame> at(std::uint64_t address);
  // Of a generator or a coroutine: it lies in the object.
  [[nodiscard]] std::optional<Frame> of_generator(std::uint64_t address);
  // The variables that a function shares with the one around it, by name.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> closure_of(const Object& function);

 private:
  struct Code {
    std::string function;
    std::vector<std::string> variables;
  };
  [[nodiscard]] const std::optional<Code>& code(std::uint64_t address);
  [[nodiscard]] std::optional<Code> read_code(std::uint64_t address);
  [[nodiscard]] std::string module_of(std::uint64_t globals);

  ObjectReader& objects_;
  const TypeTable& types_;
  std::unordered_map<std::uint64_t, std::optional<Code>> codes_;
};

// Words on the stacks of threads that may be addresses of frames: the interpreter remembers the newest there. Bounded.
[[nodiscard]] std::vector<std::uint64_t> possible_frames(const AddressSpace& space, const PoolRegions& pools);

}  // namespace oomw::cpython
