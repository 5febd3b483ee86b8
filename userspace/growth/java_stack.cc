// SPDX-License-Identifier: Apache-2.0
#include "growth/java_stack.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace oomw::growth {
namespace {

// The interpreter's frame of HotSpot on x86-64, from its frame pointer: frame_x86.hpp.
constexpr std::uint64_t kSenderSp = 8, kMethod = 24;
constexpr std::size_t kMaxMethodName = 200;

// frame_bytes: with the return address, and the caller's frame pointer below it.
std::optional<elf::Registers> caller_by_size(const elf::Registers& registers, const elf::StackCopy& stack,
                                             std::uint64_t frame_bytes) {
  const std::uint64_t end = registers[elf::kSp] + frame_bytes;
  const auto caller_ip = stack.word(end - 8);
  if (!caller_ip) return std::nullopt;
  elf::Registers caller = registers;
  if (frame_bytes >= 16) {
    const auto caller_bp = stack.word(end - 16);
    if (!caller_bp) return std::nullopt;
    caller[elf::kBp] = *caller_bp;
  }
  caller[elf::kIp] = *caller_ip;
  caller[elf::kSp] = end;
  return caller;
}

}  // namespace

Result<std::size_t> ImageMemory::read_some(std::uint64_t address, std::span<std::byte> out) const {
  auto size = memory_.read_some(address, out);
  if (size.has_value() && *size > 0) return size;
  for (const MappedBytes& file : files_) {
    if (address < file.begin || address >= file.end) continue;
    const std::uint64_t most = std::min<std::uint64_t>(out.size(), file.end - address);
    return FdSource(file.file).read_some(file.file_offset + (address - file.begin), out.first(most));
  }
  return size;
}

JavaImage find_java(const std::vector<CodeRange>& code, std::vector<MappedBytes> files) {
  for (const CodeRange& range : code) {
    if (range.file == nullptr || range.name != "libjvm.so") continue;
    JavaImage image{range.file->java(), std::move(files)};
    const auto address = range.file->address_of(range.file_offset);
    if (image.symbols.empty() || !address) return {};
    const std::uint64_t bias = range.begin - *address;
    for (auto& [name, symbol] : image.symbols) symbol += bias;
    for (const elf::Segment& segment : range.file->segments()) {
      const std::uint64_t begin = segment.address + bias;
      image.files.push_back({begin, begin + segment.file_size, segment.offset, range.file->file()});
    }
    return image;
  }
  return {};
}

JavaStack::JavaStack(KnownJava& known, const jvm::VmSymbols& symbols, const ByteSource& memory, const ByteSource& own)
    : known_(known), reader_(memory, kMaxRead, CachedReader::kLeastCost) {
  const auto table = symbols.find("gHotSpotVMStructs");
  std::byte byte{};
  is_gone_ = table == symbols.end() || own.read_some(table->second, std::span(&byte, 1)).value_or(0) == 0;
  if (!is_gone_) open(symbols);
  if (known_.jvm) jvm_.emplace(known_.jvm->with(reader_));
  if (jvm_ && !is_gone_) known_.code->refresh(*jvm_);
}

void JavaStack::open(const jvm::VmSymbols& symbols) {
  if (known_.symbols != symbols) {  // another program by now
    known_ = KnownJava();
    known_.symbols = symbols;
  }
  if (known_.jvm || ++known_.tries > KnownJava::kMaxTries) return;  // a JVM that starts has no heap yet
  auto found = jvm::Jvm::open(reader_, symbols);
  auto code = found.has_value() ? jvm::JavaCode::open(*found) : tl::make_unexpected(found.error());
  if (!code.has_value()) return;
  known_.jvm.emplace(std::move(*found));
  known_.code.emplace(std::move(*code));
}

// In the place of all that it overlaps: that code is gone.
void JavaStack::keep(const jvm::CodeBlob& blob) {
  if (known_.blobs.size() >= KnownJava::kMaxBlobs) known_.blobs.clear();
  auto at = known_.blobs.lower_bound(blob.span.begin);
  if (at != known_.blobs.begin() && std::prev(at)->second.span.end > blob.span.begin) --at;
  while (at != known_.blobs.end() && at->first < blob.span.end) at = known_.blobs.erase(at);
  known_.blobs.emplace(blob.span.begin, blob);
}

const jvm::CodeBlob* JavaStack::blob_at(std::uint64_t pc) {
  if (!is_gone_) {
    const auto read = known_.code->blob_at(*jvm_, pc);
    if (!read.has_value()) return nullptr;
    keep(*read);
  }
  const auto after = known_.blobs.upper_bound(pc);
  if (after == known_.blobs.begin()) return nullptr;
  const jvm::CodeBlob& blob = std::prev(after)->second;
  return blob.span.contains(pc) ? &blob : nullptr;
}

std::optional<RunTimeCode::Step> JavaStack::step(const elf::Registers& registers, bool is_exact,
                                                 const elf::StackCopy& stack) {
  const std::uint64_t pc = registers[elf::kIp] - (is_exact ? 0 : 1);
  if (!jvm_ || !known_.code->cache().contains(pc)) return std::nullopt;
  if (known_.code->interpreter().contains(pc)) {
    auto caller = caller_by_frame_pointer(registers, stack);
    const auto method = stack.word(registers[elf::kBp] - kMethod), sp = stack.word(registers[elf::kBp] - kSenderSp);
    if (!caller) return std::nullopt;
    // Compiled callers have their frame from there: what was pushed for the interpreter lies between.
    if (sp && *sp >= (*caller)[elf::kSp] && *sp < stack.end()) (*caller)[elf::kSp] = *sp;
    return Step{*caller, method.value_or(0)};
  }
  const jvm::CodeBlob* blob = blob_at(pc);
  if (blob == nullptr) return std::nullopt;
  std::optional<elf::Registers> caller;
  if (blob->frame_bytes == 0) {
    caller = caller_by_frame_pointer(registers, stack);
  } else if (is_exact && pc < blob->ready) {
    caller = caller_by_size(registers, stack, 8);
  } else {
    caller = caller_by_size(registers, stack, blob->frame_bytes);
  }
  return caller ? std::optional(Step{*caller, 0}) : std::nullopt;
}

std::vector<std::uint64_t> JavaStack::methods_at(std::uint64_t pc, bool is_exact) {
  if (const auto read = read_.find(pc); read != read_.end()) return read->second;
  std::vector<std::uint64_t> methods;
  if (is_gone_) {
    if (const auto known = known_.places.find(pc); known != known_.places.end()) methods = known->second;
  } else if (const jvm::CodeBlob* blob = blob_at(pc - (is_exact ? 0 : 1)); blob != nullptr) {
    methods = known_.code->methods_at(*jvm_, *blob, pc, is_exact);
    if (known_.places.size() >= KnownJava::kMaxPlaces) known_.places.clear();
    known_.places.insert_or_assign(pc, methods);
  }
  return read_[pc] = std::move(methods);
}

const std::string& JavaStack::name_of(std::uint64_t method) {
  const auto [entry, is_new] = names_.try_emplace(method);
  std::string& name = entry->second;
  if (!is_new) return name;
  if (is_gone_) {
    if (const auto known = known_.names.find(method); known != known_.names.end()) name = known->second;
    return name;
  }
  const auto read = known_.code->method_name(*jvm_, method);
  if (read.has_value()) name = printable(*read, kMaxMethodName) + "()";
  if (known_.names.size() >= KnownJava::kMaxNames) known_.names.clear();
  known_.names.insert_or_assign(method, name);
  return name;
}

std::vector<GrowthFrame> JavaStack::frames_at(std::uint64_t pc, bool is_exact, std::uint64_t method) {
  std::vector<GrowthFrame> frames;
  if (!jvm_ || !known_.code->cache().contains(pc)) return frames;
  for (const std::uint64_t one : method != 0 ? std::vector{method} : methods_at(pc, is_exact)) {
    GrowthFrame& frame = frames.emplace_back();
    frame.function = name_of(one);
    frame.is_managed = !frame.function.empty();
    if (!frame.is_managed) frame.function = "[java]";
  }
  return frames;
}

}  // namespace oomw::growth
