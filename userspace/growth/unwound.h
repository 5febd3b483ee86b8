// SPDX-License-Identifier: Apache-2.0
// What the reader answers for a batch of growth samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/result.h"
#include "events/growth_profile.h"
#include "process/target_process.h"
#include "reader/reader.h"

namespace oomw {

// "GRWS"; every kind of job differs.
inline constexpr std::uint32_t kUnwindSamplesJob = 0x53575247;

// One sample's stack: indexes into UnwoundSamples::frames, innermost first.
struct UnwoundStack {
  bool is_complete = false;
  std::vector<std::uint32_t> frames;
};

// Where CPython keeps what the program for growth samples follows, proved on a living process: offsets in bytes.
// All zero: not a Python that is known; samples have native frames only.
struct PythonLayout {
  std::uint64_t thread_state = 0;  // address that holds the state of the thread that ran Python last
  std::uint32_t id_of_thread = 0, frame_of_thread = 0, frame_of_cframe = 0;
  std::uint32_t code_of_frame = 0, previous_of_frame = 0, instruction_of_frame = 0;
  bool has_cframe = false;  // the thread's state leads to a cframe, and that to the frame
};

// Which build of each module was sampled: its linker's build id in hex, by the module's name as frames have it. "": it
// has none, or two files of that name differ.
using ModuleBuilds = std::map<std::string, std::string>;

struct UnwoundSamples {
  std::vector<GrowthFrame> frames;   // each once
  std::vector<UnwoundStack> stacks;  // one for each record that has a stack, in their order
  PythonLayout python = {};
  std::uint32_t python_version = 0;  // 0x030b for 3.11, 0x0307 for all before 3.8; 0: no Python
  ModuleBuilds builds = {};
};

// A process that is sampled, opened at its first sample: its memory, its maps, and every executable file that it maps,
// by /proc/PID/map_files, so that samples can be named after its death. Bounded in files; what found no place is
// counted in the notes. open() and unwind() belong on a worker thread.
class SampledProcess {
 public:
  [[nodiscard]] static Result<SampledProcess> open(const std::string& proc_root, ProcessKey key);
  ~SampledProcess();
  SampledProcess(SampledProcess&&) noexcept;
  SampledProcess& operator=(SampledProcess&&) noexcept;

  // Names the stacks of samples (oomw_growth_sample records, each with its stack, one after the other). The work is
  // done in the reader process, which gets this process's files and keeps its parses of executables for the next batch.
  // Maps are read again while the process lives, since code comes later (dlopen, JIT). owners: see Reader::run().
  [[nodiscard]] Result<UnwoundSamples> unwind(std::span<const std::byte> records, reader::Reader& reader,
                                              MemoryBudget* memory, std::span<const std::string> owners = {});
  // For the program that takes the samples, once a call of unwind() has found it; all zero: none.
  [[nodiscard]] PythonLayout python() const;

 private:
  struct Impl;
  explicit SampledProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
