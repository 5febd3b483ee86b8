// SPDX-License-Identifier: Apache-2.0
// The seam between the runtimes whose heaps can be read from outside and everything that uses such readings:
// captures, trends, verdicts. Go is its first implementation (runtimes/go).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/capture_terms.h"
#include "pprof/profile.h"
#include "runtimes/heap_reading.h"

namespace oomw {

// Names of a program's code, as long as its executable is held open; addresses where it has no name. One thread.
class ProgramNames {
 public:
  virtual ~ProgramNames() = default;
  // Before lines_of() of several stacks, where looking all of them up at once is faster.
  virtual void prepare(std::span<const std::vector<std::uint64_t>> /*stacks*/) {}
  // "function file:line" of each frame, the allocating one first; printable. pcs: addresses in the executable.
  [[nodiscard]] virtual std::vector<std::string> lines_of(std::span<const std::uint64_t> pcs) = 0;
  // A profile of the reading: alloc_objects, alloc_space, inuse_objects and inuse_space. `comments` come first. Without
  // samples: such readings make no profile.
  [[nodiscard]] virtual pprof::Profile profile_of(const HeapReading& reading, WallTime taken,
                                                  std::vector<std::string> comments) = 0;
};

// One execution of a program of some runtime; shared, also after the process is gone.
class RuntimeProcess {
 public:
  virtual ~RuntimeProcess() = default;
  [[nodiscard]] virtual RuntimeKind kind() const = 0;
  // Whether names() reads no file, so that names may be logged at once.
  [[nodiscard]] virtual bool has_names_at_hand() const { return false; }
  // Never null. The executable is read until `deadline`; lines_of() and profile_of() may wait for that.
  [[nodiscard]] virtual std::unique_ptr<ProgramNames> names(const Clock& clock, MonotonicTime deadline) const = 0;

  ProcessKey key;
  MonotonicTime registered;  // when it was first inspected: an exec after this is another program
};
using RuntimeProcessPtr = std::shared_ptr<const RuntimeProcess>;

struct HeapRead {
  RuntimeProcessPtr process;  // null: not of this runtime, or gone
  std::optional<HeapReading> reading;
  CaptureFailure failure;  // why there is no reading
  // CPU time that other processes took for it, their start included; where one did not answer, how long that took.
  Nanoseconds cost_elsewhere{};
};

// Receives every heap that was read, for whatever purpose, before a profile is made of it. Called on the thread that
// read it, which waits meanwhile.
using ReadingWatcher = std::function<void(const RuntimeProcess& process, const HeapReading& reading)>;

// All programs of one runtime. Thread-safe; read() and prepare() are for workers.
class Runtime {
 public:
  virtual ~Runtime() = default;
  // Inspects the program of a process ahead of time, so that a read finds it known.
  virtual void prepare(ProcessKey process) = 0;
  // Null if not known, or not of this runtime. Also finds a process that has just exited.
  [[nodiscard]] virtual RuntimeProcessPtr process(ProcessKey process) const = 0;
  // The living processes whose heap can be read.
  [[nodiscard]] virtual std::vector<RuntimeProcessPtr> readable() const = 0;
  // The heap of a living process, which is neither stopped nor asked; stops at the deadline.
  [[nodiscard]] virtual HeapRead read(ProcessKey process, MonotonicTime deadline) = 0;
  // Whether no collection has ended since that one: reads a few bytes instead of a heap.
  [[nodiscard]] virtual bool is_still_at(ProcessKey process, std::uint32_t collection) const = 0;
  // The process is gone: it stays findable for a while, then it is dropped.
  virtual void forget(ProcessKey process) = 0;
};

}  // namespace oomw
