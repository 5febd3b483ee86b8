// SPDX-License-Identifier: Apache-2.0
// What the file of a program reveals about its heap profile, before any process is inspected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "elf/elf_file.h"

namespace oomw::go {

enum class LocateMethod { kNone, kSymbols, kCode, kScan };
[[nodiscard]] std::string_view to_string(LocateMethod method);

// Link-time addresses of the runtime's variables; add the load bias of a process.
struct HeapVariables {
  std::optional<std::uint64_t> buckets;  // runtime.mbuckets, head of the list
  std::optional<std::uint64_t> rate;     // runtime.MemProfileRate, 8 bytes
  std::optional<std::uint64_t> cycle;    // runtime.mProfCycle, 4 bytes
  friend bool operator==(const HeapVariables&, const HeapVariables&) = default;
};

enum class Profiling {
  kAvailable,  // addresses known; rate and list depend on the process
  kLinkedOut,  // nothing reaches runtime.MemProfile: the linker switched profiling off for good
  kNotFound,   // Go, but no address, see `why`; a scan of the live process may still find it
  kNarrow,     // a 32-bit Go program: its heap profile has another layout and is never read
};
[[nodiscard]] std::string_view to_string(Profiling profiling);

struct GoBinary {
  static constexpr std::size_t kMaxVersion = 64;

  bool is_go = false;         // if false, only `why` means anything
  std::string go_version;     // "" if unreadable
  bool is_collector = false;  // an OpenTelemetry Collector is part of the program
  std::string build_id;       // GNU build id in hex, else Go's own; "" if neither
  elf::Machine machine = elf::Machine::kAmd64;
  bool is_position_independent = false;
  std::uint64_t entry = 0;
  elf::AddressRange bss;  // where the list head must lie; empty if not known from the file
  std::uint64_t text_start = 0;
  elf::AddressRange text;
  HeapVariables variables;
  LocateMethod method = LocateMethod::kNone;
  bool cross_checked = false;  // symbols and code gave the same addresses
  Profiling profiling = Profiling::kNotFound;
  std::string why;  // for all but kAvailable, and for a disagreement
};

// Inspects the file behind an open executable (/proc/PID/exe kept by the caller). Not Go is a result, not an Error: it
// is known after the ELF header and section names. Reads only what it needs (about 5 MB of a 50 MB program) and holds
// no more than 512 KiB of it. An Error: not a readable ELF.
[[nodiscard]] Result<GoBinary> inspect_binary(const ByteSource& file);
[[nodiscard]] Result<GoBinary> inspect_binary(int exe_fd);

}  // namespace oomw::go
