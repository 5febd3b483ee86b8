// SPDX-License-Identifier: Apache-2.0
// An executable of any shape, unwinding instructions, samples and answers that may be anything: looking up and naming
// ends within bounds.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "elf/cfi_program.h"
#include "elf/eh_frame.h"
#include "elf/symbol_table.h"
#include "fuzz/cost_oracle.h"
#include "growth/code_names.h"
#include "growth/growth_wire.h"
#include "growth/perf_map.h"

namespace {

using namespace oomw;
using namespace oomw::elf;
using namespace oomw::growth;

// A packed symbol table may be 8 MiB unpacked, and unpacking may take 24 MiB.
constexpr fuzz::CostBounds kBounds = {.fixed_bytes = 96u << 20, .bytes_per_byte = 512, .fixed_us = 2'000'000};

void look_up(std::span<const std::byte> bytes) {
  const SpanSource source(bytes);
  CachedReader reader(source, 64u << 20, 8u << 10);
  const auto file = elf::File::open(reader);
  if (!file) return;
  const EhFrame frames(*file);
  const SymbolTable symbols(*file);
  for (const elf::Segment& segment : file->segments()) {
    for (const std::uint64_t at : {segment.address, segment.address + segment.file_size / 2}) {
      const auto row = frames.row(at);
      OOMW_CHECK(!row.has_value() || row->function <= at);
      (void)symbols.at(at, row ? row->function : 0);
    }
  }
}

void run(std::span<const std::uint8_t> instructions, std::span<const std::byte> bytes) {
  CfiProgram program(1, -8);
  if (!program.run(instructions, 0x1000, 0x1100)) return;
  Registers registers{};
  registers[kSp] = 0x7000;
  (void)caller_of(program.row, registers, {0x7000, bytes, false});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size, kBounds);
  const std::span<const std::uint8_t> input(data, size);
  const std::span<const std::byte> bytes = std::as_bytes(input);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  look_up(bytes);
  run(input, bytes);
  if (const auto samples = parse_samples(bytes)) OOMW_CHECK(samples->size() <= kMaxSamples);
  (void)decode_ranges(text, kMaxCodeFiles);
  (void)decode_unwound(text, 1);
  (void)names_in_perf_map(SpanSource(bytes), {0x1000, 0x2000});
  OOMW_CHECK(readable_name(text).size() <= std::max<std::size_t>(size, 4096));
  return 0;
}
