// SPDX-License-Identifier: Apache-2.0
// A function table of any content, in an otherwise sound executable: every lookup must end. The
// input is the table itself, so that the fuzzer need not learn ELF first.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/text_target.h"
#include "runtimes/go/symbolizer.h"
#include "support/elf_header.h"

namespace {

constexpr std::uint64_t kAddress = 0x400000;
constexpr std::size_t kTableAt = 0x400, kMaxTable = 64U << 10;

// One readable segment with everything; the entry point makes 0x400000 the start of text.
std::vector<std::byte> executable_with(std::span<const std::byte> table) {
  std::vector<std::byte> file(kTableAt + table.size());
  const Elf64_Ehdr header = oomw::test::executable_header(1);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_W;
  segment.p_vaddr = kAddress;
  segment.p_filesz = segment.p_memsz = file.size();
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), &segment, sizeof(segment));
  if (!table.empty()) std::memcpy(file.data() + kTableAt, table.data(), table.size());
  return file;
}

}  // namespace

void fuzz_text(std::string_view input) {
  using namespace oomw::go;
  const auto file = executable_with(std::as_bytes(std::span(input.substr(0, kMaxTable))));
  const oomw::SpanSource source(file);
  oomw::CachedReader reader(source, 64U << 20, 4096);
  const auto elf = oomw::elf::File::open(reader);
  if (!elf.has_value()) __builtin_trap();  // it is ours and sound
  const auto table = Pclntab::parse(*elf, kAddress + kTableAt, input.size());
  if (!table.has_value()) return;
  for (std::uint32_t i = 0; i < std::min(table->function_count(), 64U); ++i) {
    const auto function = table->function(i);
    if (!function.has_value()) continue;
    (void)table->name_at(function->name_offset);
    (void)table->file_at(*function, function->entry);
    (void)table->line_at(*function, function->end - 1);
    (void)table->stack_bytes_at(*function, function->entry);
    (void)table->pcdata_at(*function, 2, function->entry);
    (void)table->funcdata(*function, 3);
    (void)table->function_at(function->entry);
  }
  const WantedAddress wanted[] = {{kAddress + 1, true}, {kAddress + 9, false}};
  if (const auto named = name_frames(source, wanted)) {
    if (named->counts.size() != 2 || named->counts[0] == 0 || named->counts[1] != 1) __builtin_trap();
  }
}
