// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/capture_terms.h"
#include "events/goroutines_at_kill.h"
#include "process/exe_handles.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/go_names.h"
#include "runtimes/go/heap_reader.h"
#include "runtimes/go/program_inspector.h"
#include "runtimes/runtime.h"

namespace oomw {

// One execution of a Go program and where its heap profile lies. Immutable except for record_words.
struct GoProcess final : RuntimeProcess {
  [[nodiscard]] RuntimeKind kind() const override { return RuntimeKind::kGo; }
  [[nodiscard]] std::unique_ptr<ProgramNames> names(const Clock& clock, MonotonicTime deadline) const override {
    return std::make_unique<go::GoNames>(exe, binary, inspector, file_owners, clock, deadline);
  }

  std::shared_ptr<const ExeHandle> exe;                // null when too many executables are open: no names then
  std::shared_ptr<const go::GoBinary> binary;          // never null
  std::optional<go::HeapTarget> target;                // where the list head lies in this process
  CaptureReason reason = CaptureReason::kNone;         // without target: kLinkedOut, kNotFound or kNarrow
  std::string detail;                                  // the same for humans
  std::string owner;                                   // its container; "": not known
  go::ProgramInspector* inspector = nullptr;           // of its executable; outlives this; null: it is parsed here
  std::vector<std::string> file_owners;                // of its executable, see reader::Reader::run()
  mutable std::atomic<std::uint32_t> record_words{0};  // 8 or 16 once a read proved the layout, 0 = not yet

  // Once a reading proved it, for the kernel.
  mutable std::atomic<std::shared_ptr<const GoroutineList>> goroutines;

  // Where Go's code starts in this process.
  [[nodiscard]] std::uint64_t text_address() const { return binary->text_start + (target ? target->load_bias : 0); }
};
using GoProcessPtr = std::shared_ptr<const GoProcess>;

}  // namespace oomw
