// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process/exe_handles.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/frame_table.h"
#include "runtimes/go/program_inspector.h"
#include "runtimes/runtime.h"

namespace oomw::go {

// Names of a Go program. `go tool pprof` reads its profiles without the binary: the four sample types of runtime/pprof,
// values held now, scaled against sampling as it does, with function, file and line.
//
// - Holdings without any amount are left out; a block size is the label "bytes".
// - A frame is a location; equal ones are shared. Without names, locations are bare addresses, the comments give the
//   reason, and the mapping carries what is needed to name them later.
// - What was asked for once is not asked for again.
class GoNames final : public ProgramNames {
 public:
  // exe: null if it is not held open. inspector: parses the function table, and outlives this; null: it is parsed here.
  // owners: of the executable, see reader::Reader::run().
  GoNames(std::shared_ptr<const ExeHandle> exe, std::shared_ptr<const GoBinary> binary, ProgramInspector* inspector,
          std::vector<std::string> owners, const Clock& clock, MonotonicTime deadline);
  void prepare(std::span<const std::vector<std::uint64_t>> stacks) override;
  [[nodiscard]] std::vector<std::string> lines_of(std::span<const std::uint64_t> pcs) override;
  [[nodiscard]] pprof::Profile profile_of(const HeapReading& reading, WallTime taken,
                                          std::vector<std::string> comments) override;

 private:
  [[nodiscard]] bool has_names() const { return is_open_ && why_not_.empty(); }
  [[nodiscard]] Result<NamedFrames> ask() const;
  void want(std::span<const std::uint64_t> pcs, std::uint64_t load_bias);
  void look_up();  // what the table wants

  const std::shared_ptr<const ExeHandle> exe_;
  const std::shared_ptr<const GoBinary> binary_;
  ProgramInspector* const inspector_;
  const std::vector<std::string> owners_;
  const Clock& clock_;
  const MonotonicTime deadline_;
  FrameTable table_;
  bool is_open_ = false;  // the function table was found
  std::string why_not_;   // why there are no names
};

}  // namespace oomw::go
