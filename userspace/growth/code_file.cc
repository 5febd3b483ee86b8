// SPDX-License-Identifier: Apache-2.0
#include "growth/code_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "growth/code_jumps.h"
#include "growth/code_names.h"
#include "growth/code_texts.h"

namespace oomw::growth {
namespace {

constexpr std::size_t kMaxGoName = 200, kGoLineBytes = 512;
constexpr std::size_t kCallBytes = 7;  // the longest form that is known: a call through memory

// E8 with an offset, or FF /2 in one of its lengths.
bool ends_in_call(const std::array<std::uint8_t, kCallBytes>& before) {
  if (before[2] == 0xe8) return true;
  for (const std::size_t at : {0u, 1u, 3u, 4u, 5u}) {
    if (before[at] == 0xff && (before[at + 1] & 0x38) == 0x10) return true;
  }
  return false;
}

// The C library's fstat() is another system call by now, which takes paths and which the reader may not use.
std::optional<FileIdentity> identity_of(int file) {
  struct stat status {};
  if (::syscall(SYS_fstat, file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

Result<std::unique_ptr<CodeFile>> CodeFile::parse(int file) {
  std::unique_ptr<CodeFile> code(new CodeFile());
  code->open(file);
  ASSIGN_OR_RETURN(code->elf_, elf::File::open(code->reader_));
  if (code->elf_->machine() != elf::Machine::kAmd64) return fail(ErrorCode::kUnsupported, "not x86-64");
  code->frames_.emplace(*code->elf_);
  code->build_id_ = elf::gnu_build_id(*code->elf_);
  return code;
}

void CodeFile::close() {
  source_.file = -1;
  if (rows_.size() >= kMaxRows / 2) rows_.clear();
  if (names_.size() >= kMaxNames / 2) names_.clear();
  if (go_lines_.size() >= kMaxNames / 2) go_lines_.clear();
}

std::optional<std::uint64_t> CodeFile::address_of(std::uint64_t file_offset) const {
  for (const elf::Segment& segment : elf_->segments()) {
    if ((segment.flags & PF_X) == 0 || file_offset < segment.offset) continue;
    if (file_offset - segment.offset < segment.file_size) return segment.address + (file_offset - segment.offset);
  }
  return std::nullopt;
}

const elf::CfiRow* CodeFile::row(std::uint64_t address) {
  const auto known = rows_.find(address);
  if (known != rows_.end()) return known->second ? &*known->second : nullptr;
  if (rows_.size() >= kMaxRows) return nullptr;
  auto found = frames_->row(address);
  auto& row = rows_[address];
  row = found ? std::optional(std::move(*found)) : go_row(address);
  return row ? &*row : nullptr;
}

const jvm::VmSymbols& CodeFile::java() {
  if (!java_) {
    Mapping at_zero;  // so that addresses are those in the file
    java_ = jvm::read_vm_symbols(source_, at_zero).value_or(jvm::VmSymbols{});
  }
  return *java_;
}

const v8::Constants* CodeFile::v8() {
  if (!v8_) {
    auto found = v8::read_constants(source_);
    v8_ = found.has_value() ? std::make_unique<v8::Constants>(std::move(*found)) : nullptr;
  }
  return v8_->get();
}

go::Symbolizer* CodeFile::go_table() {
  if (!go_) {
    auto table = go::Symbolizer::open(source_, kMaxGo);
    go_.emplace(table ? std::move(*table) : nullptr);
  }
  return go_->get();
}

// A Go function keeps no register for its caller, and the frame pointer is not needed to go on. Where the stack was
// switched the row has no rule for the return address: there is no way on.
std::optional<elf::CfiRow> CodeFile::go_row(std::uint64_t address) {
  const auto place = go_table() != nullptr ? go_table()->stack_place(address) : std::nullopt;
  if (!place) return std::nullopt;
  elf::CfiRow row;
  row.cfa_register = elf::kSp;
  row.cfa_offset = std::int64_t{place->bytes} + 8;
  if (place->is_outermost) {
    row.rules[elf::kIp].kind = elf::RuleKind::kUndefined;
  } else if (!place->is_on_other_stack) {
    row.rules[elf::kIp] = {elf::RuleKind::kOffset, 0, -8};
  }
  row.function = place->function.begin;
  row.function_bytes = place->function.size();
  return row;
}

const std::vector<GoLine>& CodeFile::go_lines(std::uint64_t address) {
  static const std::vector<GoLine> kNone;
  const auto known = go_lines_.find(address);
  if (known != go_lines_.end()) return known->second;
  if (go_lines_.size() >= kMaxNames || go_table() == nullptr) return kNone;
  std::vector<GoLine>& lines = go_lines_[address];
  // It takes return addresses, which are behind the call.
  for (const go::Frame& frame : go_table()->inlined_chain(address + 1)) {
    if (!frame.is_known || lines.size() >= kMaxGoLines) break;
    const go::TextPool& texts = go_table()->texts();
    const std::string& file = texts.text(frame.file);
    lines.push_back({printable(texts.text(frame.function), kMaxGoName), printable(base_name(file), kMaxGoName),
                     static_cast<std::uint64_t>(frame.line)});
  }
  return lines;
}

bool CodeFile::follows_call(std::uint64_t address) const {
  const auto before = elf_->get_at<std::array<std::uint8_t, kCallBytes>>(address - kCallBytes);
  return before.has_value() && ends_in_call(*before);
}

const std::string& CodeFile::name_of(std::uint64_t address, std::uint64_t function) {
  static const std::string kNone;
  const auto known = names_.find(address);
  if (known != names_.end()) return known->second;
  if (names_.size() >= kMaxNames) return kNone;
  if (!symbols_) symbols_.emplace(*elf_);
  const auto symbol = symbols_->at(address, function);
  std::string name = symbol ? readable_name(symbol->name) : "";
  if (name.empty() && is_python_evaluation(function)) name = kPythonEvaluation;
  return names_[address] = std::move(name);
}

// A compiler may move the better part of a function elsewhere (seen: 84 of 85 KiB, in Debian's 3.14), and only the
// function itself is exported.
bool CodeFile::is_python_evaluation(std::uint64_t function) {
  if (function == 0 || jumps_ > kMaxJumps || python().version == 0) return false;
  const auto part = frames_->row(function);
  if (!part) return false;
  const elf::AddressRange own{function, function + part->function_bytes};
  jumps_ += std::min(own.size(), kMaxJumpingCode) / 1024;  // a scan costs, too
  for (const std::uint64_t target : jumps_out_of(*elf_, own)) {
    if (++jumps_ > kMaxJumps) return false;
    const auto symbol = symbols_->at(target, 0);
    if (!symbol || symbol->name != kPythonEvaluation || target == symbol->begin) continue;
    const auto whole = frames_->row(target);
    if (!whole || whole->function != symbol->begin) return false;
    const elf::AddressRange other{symbol->begin, symbol->begin + whole->function_bytes};
    return std::ranges::any_of(jumps_out_of(*elf_, other), [&](std::uint64_t back) { return own.contains(back); });
  }
  return false;
}

const std::vector<std::string>& CodeFile::texts_of(std::uint64_t function) {
  static const std::vector<std::string> kNone;
  const auto known = texts_.find(function);
  if (known != texts_.end()) return known->second;
  if (texts_.size() >= kMaxTextsKept) return kNone;
  const auto row = frames_->row(function);
  if (!row) return kNone;
  return texts_[function] = texts_used_by(*elf_, {function, function + row->function_bytes});
}

const PythonSymbols& CodeFile::python() {
  if (!python_) python_ = find_python_symbols(*elf_);
  return *python_;
}

std::uint64_t CodeFile::own_bytes() const {
  constexpr std::uint64_t kReader = CachedReader::kBlocks * (8u << 10);
  const std::uint64_t go = go_ && *go_ != nullptr ? (*go_)->own_bytes() + go_lines_.size() * kGoLineBytes : 0;
  return kReader + frames_->own_bytes() + (symbols_ ? symbols_->own_bytes() : 0) +
         rows_.size() * (sizeof(elf::CfiRow) + 64) + names_.size() * 160 + go + texts_.size() * 256;
}

CodeFile* CodeFiles::get(int file) {
  const auto identity = identity_of(file);
  if (!identity) return nullptr;
  const auto known = std::ranges::find(files_, *identity, &Kept::identity);
  if (known != files_.end()) {
    files_.splice(files_.begin(), files_, known);
  } else {
    auto parsed = CodeFile::parse(file);
    files_.push_front({*identity, parsed ? std::move(*parsed) : nullptr});
  }
  CodeFile* code = files_.front().file.get();
  if (code != nullptr) code->open(file);
  return code;
}

void CodeFiles::trim() {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (auto it = files_.begin(); it != files_.end();) {
    if (it->file != nullptr) it->file->close();
    bytes += it->file != nullptr ? it->file->own_bytes() : 0;
    const bool stays = ++count <= kMaxFiles && bytes <= kMaxBytes && (it->file == nullptr || !it->file->is_used_up());
    it = stays ? std::next(it) : files_.erase(it);
  }
}

}  // namespace oomw::growth
