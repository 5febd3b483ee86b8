// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/byte_source.h"
#include "memory/deadline_source.h"
#include "memory/exe_handles.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/symbolizer.h"
#include "runtimes/runtime.h"

namespace oomw::go {

// Names of a Go program. `go tool pprof` reads its profiles without the binary: the four sample types of runtime/pprof,
// values held now, scaled against sampling as it does, with function, file and line.
//
// - Holdings without any amount are left out; a block size is the label "bytes".
// - A frame is a location; equal ones are shared. Without names, locations are bare addresses, the comments give the
//   reason, and the mapping carries what is needed to name them later.
class GoNames final : public ProgramNames {
 public:
  // exe: null if it is not held open.
  GoNames(std::shared_ptr<const ExeHandle> exe, std::shared_ptr<const GoBinary> binary, const Clock& clock,
          MonotonicTime deadline);
  [[nodiscard]] std::vector<std::string> lines_of(std::span<const std::uint64_t> pcs) override;
  [[nodiscard]] pprof::Profile profile_of(const HeapReading& reading, WallTime taken,
                                          std::vector<std::string> comments) override;
  [[nodiscard]] bool has_names() const { return symbolizer_ != nullptr; }

 private:
  const std::shared_ptr<const ExeHandle> exe_;
  const std::shared_ptr<const GoBinary> binary_;
  FdSource file_;
  DeadlineSource source_;
  std::unique_ptr<Symbolizer> symbolizer_;
  std::string why_not_;  // why there is none
};

}  // namespace oomw::go
