// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/jvm.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"

namespace oomw::jvm {
namespace {

constexpr std::uint64_t kMaxFlags = 4'000;       // 1,400 in OpenJDK 17
constexpr std::string_view kFlagType8 = "Flag";  // only JDK 8 has it
constexpr std::size_t kMaxFlagName = 80;
constexpr std::size_t kMaxClassName = 256;
constexpr std::int32_t kMaxConstants = 1 << 16;                 // of a class
constexpr std::int32_t kOriginMask = 15, kOriginErgonomic = 5;  // JVMFlagOrigin: 0 default, 1 to 4 somebody set it
constexpr std::int32_t kMaxReserveWords = 1'024;                // 72 on amd64
constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 47;

bool is_sound(const AddressSpan& span) { return span.begin != 0 && span.begin < span.end && span.end < kMaxAddress; }

}  // namespace

std::string_view to_string(Collector collector) {
  static constexpr std::array<std::string_view, 7> kNames = {"unknown", "Serial",     "Parallel", "G1",
                                                             "Z",       "Shenandoah", "Epsilon"};
  return kNames[static_cast<std::size_t>(collector)];
}

Result<Jvm> Jvm::open(CachedReader& memory, const VmSymbols& symbols) {
  ASSIGN_OR_RETURN(VmStructs structs, VmStructs::read(memory, symbols));
  Jvm jvm(memory, std::move(structs));
  RETURN_IF_ERROR(jvm.read_heap_span());
  RETURN_IF_ERROR(jvm.read_flags());
  const Result<std::int32_t> version = jvm.number("Abstract_VM_Version", "_vm_major_version");
  // HotSpot had numbers of its own then: 25.
  if (jvm.flag_type() == kFlagType8) {
    jvm.version_ = 8;
  } else if (version.has_value() && *version > 0 && *version < 100)
    jvm.version_ = static_cast<std::uint32_t>(*version);
  return jvm;
}

Result<std::uint64_t> Jvm::offset(std::string_view type, std::string_view field) const {
  const auto found = structs_.offset(type, field);
  if (found) return *found;
  return fail(ErrorCode::kUnsupported, "this JVM has no " + std::string(type) + "." + std::string(field));
}

Result<std::uint64_t> Jvm::word(std::uint64_t object, std::string_view type, std::string_view field) const {
  ASSIGN_OR_RETURN(const std::uint64_t at, offset(type, field));
  return memory_->get<std::uint64_t>(object + at);
}

Result<std::int32_t> Jvm::number(std::uint64_t object, std::string_view type, std::string_view field) const {
  ASSIGN_OR_RETURN(const std::uint64_t at, offset(type, field));
  return memory_->get<std::int32_t>(object + at);
}

Result<std::uint64_t> Jvm::word(std::string_view type, std::string_view field) const {
  const auto address = structs_.address(type, field);
  if (address) return memory_->get<std::uint64_t>(*address);
  return fail(ErrorCode::kUnsupported, "this JVM has no " + std::string(type) + "::" + std::string(field));
}

Result<std::int32_t> Jvm::number(std::string_view type, std::string_view field) const {
  const auto address = structs_.address(type, field);
  if (address) return memory_->get<std::int32_t>(*address);
  return fail(ErrorCode::kUnsupported, "this JVM has no " + std::string(type) + "::" + std::string(field));
}

Result<> Jvm::read_heap_span() {
  ASSIGN_OR_RETURN(heap_, word("Universe", "_collectedHeap"));
  if (heap_ == 0) return fail(ErrorCode::kUnavailable, "the JVM has no heap yet");
  ASSIGN_OR_RETURN(const std::uint64_t reserved, offset("CollectedHeap", "_reserved"));
  ASSIGN_OR_RETURN(const auto begin, memory_->get<std::uint64_t>(heap_ + reserved));
  ASSIGN_OR_RETURN(const auto words, memory_->get<std::uint64_t>(heap_ + reserved + 8));
  if (words > kMaxAddress / 8) return fail(ErrorCode::kUnsupported, "unknown JVM: a heap of nonsense");
  heap_span_ = {begin, begin + words * 8};
  if (!is_sound(heap_span_)) return fail(ErrorCode::kUnsupported, "unknown JVM: a heap of nonsense");
  return {};
}

void Jvm::set_flag(const std::string& name, std::uint64_t address, bool is_set) {
  using Bytes = std::optional<std::uint64_t> JvmFlags::*;
  static constexpr std::pair<std::string_view, Bytes> kSizes[] = {
      {"MaxHeapSize", &JvmFlags::max_heap_bytes},
      {"MaxDirectMemorySize", &JvmFlags::max_direct_bytes},
      {"MaxMetaspaceSize", &JvmFlags::max_metaspace_bytes},
      {"ReservedCodeCacheSize", &JvmFlags::code_cache_bytes},
      {"ThreadStackSize", &JvmFlags::thread_stack_bytes}};
  for (const auto& [flag, field] : kSizes) {
    if (name != flag) continue;
    const auto value = memory_->get<std::uint64_t>(address);
    if (value.has_value()) flags_.*field = *value;
  }
  static constexpr std::pair<std::string_view, Collector> kCollectors[] = {{"UseSerialGC", Collector::kSerial},
                                                                           {"UseParallelGC", Collector::kParallel},
                                                                           {"UseG1GC", Collector::kG1},
                                                                           {"UseZGC", Collector::kZ},
                                                                           {"UseShenandoahGC", Collector::kShenandoah},
                                                                           {"UseEpsilonGC", Collector::kEpsilon}};
  const auto is_on = [&] { return memory_->get<std::uint8_t>(address).value_or(0) == 1; };
  for (const auto& [flag, collector] : kCollectors) {
    if (name == flag && is_on()) flags_.collector = collector;
  }
  static constexpr std::pair<std::string_view, bool JvmFlags::*> kSwitches[] = {
      {"UseCompressedOops", &JvmFlags::has_compressed_oops},
      {"UseCompressedClassPointers", &JvmFlags::has_compressed_classes},
      {"UseCompactObjectHeaders", &JvmFlags::has_compact_headers}};
  for (const auto& [flag, field] : kSwitches) {
    if (name == flag) flags_.*field = is_on();
  }
  const bool is_heap_size = name == "MaxHeapSize" || name == "MaxRAMPercentage" || name == "MaxRAM";
  flags_.is_max_heap_set = flags_.is_max_heap_set || (is_heap_size && is_set);
}

std::string_view Jvm::flag_type() const { return structs_.offset(kFlagType8, "_addr") ? kFlagType8 : "JVMFlag"; }

Result<> Jvm::read_flags() {
  const std::string_view type = flag_type();
  ASSIGN_OR_RETURN(const std::uint64_t table, word(type, "flags"));
  ASSIGN_OR_RETURN(const std::uint64_t count, word(type, "numFlags"));
  ASSIGN_OR_RETURN(const std::uint64_t name_at, offset(type, "_name"));
  ASSIGN_OR_RETURN(const std::uint64_t address_at, offset(type, "_addr"));
  ASSIGN_OR_RETURN(const std::uint64_t origin_at, offset(type, "_flags"));
  const std::uint64_t size = structs_.size_of(type).value_or(0);
  if (size < 16 || size > 256 || count > kMaxFlags) return fail(ErrorCode::kUnsupported, "unknown JVM: its flags");
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t flag = table + i * size;
    ASSIGN_OR_RETURN(const auto name_address, memory_->get<std::uint64_t>(flag + name_at));
    if (name_address == 0) continue;
    ASSIGN_OR_RETURN(const std::string name, memory_->c_string(name_address, kMaxFlagName));
    ASSIGN_OR_RETURN(const auto address, memory_->get<std::uint64_t>(flag + address_at));
    ASSIGN_OR_RETURN(const auto origin, memory_->get<std::int32_t>(flag + origin_at));
    const std::int32_t from = origin & kOriginMask;
    set_flag(name, address, from != 0 && from < kOriginErgonomic);
  }
  if (!flags_.max_heap_bytes) return fail(ErrorCode::kUnsupported, "unknown JVM: no maximum of its heap");
  return {};
}

std::optional<AddressSpan> Jvm::static_span(std::string_view type, std::string_view from, std::string_view to) const {
  const Result<std::uint64_t> begin = word(type, from), end = word(type, to);
  if (!begin.has_value() || !end.has_value()) return std::nullopt;
  const AddressSpan span{*begin, *end};
  return is_sound(span) ? std::optional(span) : std::nullopt;
}

std::optional<AddressSpan> Jvm::code_cache() const {
  if (const auto span = static_span("CodeCache", "_low_bound", "_high_bound")) return span;
  // 8: one heap, whose memory is a part of it.
  const Result<std::uint64_t> code = word("CodeCache", "_heap"), memory = offset("CodeHeap", "_memory");
  if (!code.has_value() || !memory.has_value()) return std::nullopt;
  const auto begin = word(*code + *memory, "VirtualSpace", "_low_boundary"),
             end = word(*code + *memory, "VirtualSpace", "_high_boundary");
  const AddressSpan span{begin.value_or(0), end.value_or(0)};
  return is_sound(span) ? std::optional(span) : std::nullopt;
}

std::optional<AddressSpan> Jvm::class_archive() const {
  if (auto span = static_span("MetaspaceObj", "_shared_metaspace_base", "_shared_metaspace_top")) return span;
  return static_span("MetaspaceObj", "_aot_metaspace_base", "_aot_metaspace_top");  // 26
}

std::optional<AddressSpan> Jvm::perf_data() const { return static_span("PerfMemory", "_start", "_end"); }

std::optional<NarrowEncoding> Jvm::encoding(std::string_view type, const std::string& old_prefix) const {
  // Until 12, until 21, and later.
  const std::pair<std::string_view, std::string> places[] = {{"Universe", old_prefix}, {type, old_prefix}, {type, ""}};
  for (const auto& [owner, prefix] : places) {
    const auto base = word(owner, prefix + "_base");
    const auto shift = number(owner, prefix + "_shift");
    if (!base.has_value() || !shift.has_value()) continue;
    if (*base >= kMaxAddress || *shift < 0 || *shift > 10) return std::nullopt;
    return NarrowEncoding{*base, static_cast<std::uint32_t>(*shift)};
  }
  return std::nullopt;
}

std::optional<NarrowEncoding> Jvm::class_encoding() const {
  if (!flags_.has_compressed_classes || flags_.has_compact_headers) return std::nullopt;
  return encoding("CompressedKlassPointers", "_narrow_klass.");
}

NarrowEncoding Jvm::object_encoding() const {
  return encoding("CompressedOops", "_narrow_oop.").value_or(NarrowEncoding{});
}

// Fields moved from one type to the other between versions.
static Result<std::uint64_t> word_of_thread(const Jvm& jvm, std::uint64_t thread, std::string_view field) {
  if (jvm.structs().offset("JavaThread", field)) return jvm.word(thread, "JavaThread", field);
  return jvm.word(thread, "Thread", field);
}

void Jvm::add_thread(std::uint64_t thread, std::uint64_t reserve, JavaThreads& threads) const {
  const auto base = word_of_thread(*this, thread, "_stack_base"), size = word_of_thread(*this, thread, "_stack_size");
  if (base.has_value() && size.has_value() && *size < *base) {
    const AddressSpan stack{*base - *size, *base};
    if (is_sound(stack)) threads.stacks.push_back(stack);
  }
  const auto tlab = structs_.offset("Thread", "_tlab");
  if (!tlab) return;
  const auto top = word(thread + *tlab, "ThreadLocalAllocBuffer", "_top");
  const auto end = word(thread + *tlab, "ThreadLocalAllocBuffer", "_end");
  if (!top.has_value() || !end.has_value() || !heap_span_.contains(*top) || *end < *top) return;
  const AddressSpan gap{*top, std::min(*end + reserve, heap_span_.end)};
  if (is_sound(gap)) threads.gaps.push_back(gap);
}

Result<std::vector<std::uint64_t>> Jvm::thread_addresses() const {
  std::vector<std::uint64_t> addresses;
  if (!structs_.address("ThreadsSMRSupport", "_java_thread_list")) {  // until 11: from each to the next
    ASSIGN_OR_RETURN(std::uint64_t thread, word("Threads", "_thread_list"));
    while (thread != 0 && addresses.size() <= kMaxThreads) {
      addresses.push_back(thread);
      ASSIGN_OR_RETURN(thread, word(thread, "JavaThread", "_next"));
    }
  } else {
    ASSIGN_OR_RETURN(const std::uint64_t list, word("ThreadsSMRSupport", "_java_thread_list"));
    ASSIGN_OR_RETURN(const std::int32_t count, number(list, "ThreadsList", "_length"));
    ASSIGN_OR_RETURN(const std::uint64_t array, word(list, "ThreadsList", "_threads"));
    addresses.resize(std::min<std::uint64_t>(static_cast<std::uint32_t>(count), kMaxThreads + 1));
    RETURN_IF_ERROR(memory_->read(array, std::as_writable_bytes(std::span(addresses))));
  }
  if (addresses.empty() || addresses.size() > kMaxThreads) {
    return fail(ErrorCode::kInvalid, std::to_string(addresses.size()) + " threads");
  }
  return addresses;
}

Result<JavaThreads> Jvm::threads() const {
  ASSIGN_OR_RETURN(const std::vector<std::uint64_t> addresses, thread_addresses());
  // Behind each buffer there is room for the object that will fill it.
  auto prefetch = number("ThreadLocalAllocBuffer", "_reserve_for_allocation_prefetch");
  if (!prefetch.has_value()) prefetch = number("Abstract_VM_Version", "_reserve_for_allocation_prefetch");  // 8
  const std::uint64_t reserve = 8 * static_cast<std::uint64_t>(std::clamp(prefetch.value_or(0), 2, kMaxReserveWords));
  JavaThreads threads;
  threads.count = addresses.size();
  for (const std::uint64_t thread : addresses) add_thread(thread, reserve, threads);
  std::ranges::sort(threads.gaps, {}, &AddressSpan::begin);
  return threads;
}

Result<std::string> Jvm::class_name(std::uint64_t klass) const {
  ASSIGN_OR_RETURN(const std::uint64_t symbol, word(klass, "Klass", "_name"));
  return symbol_text(symbol);
}

Result<std::string> Jvm::constant_text(std::uint64_t pool, std::uint32_t number) const {
  const auto header = structs_.size_of("ConstantPool");
  if (!header) return fail(ErrorCode::kUnsupported, "the size of a pool of constants is not known");
  ASSIGN_OR_RETURN(const std::int32_t length, this->number(pool, "ConstantPool", "_length"));
  if (number == 0 || std::int64_t{number} >= std::min(length, kMaxConstants))
    return fail(ErrorCode::kInvalid, "a name outside of its pool");
  ASSIGN_OR_RETURN(const auto symbol, memory_->get<std::uint64_t>(pool + *header + 8 * std::uint64_t{number}));
  return symbol_text(symbol);
}

Result<std::string> Jvm::symbol_text(std::uint64_t symbol) const {
  ASSIGN_OR_RETURN(const std::uint64_t length_at, offset("Symbol", "_length"));
  ASSIGN_OR_RETURN(const std::uint64_t body_at, offset("Symbol", "_body"));
  ASSIGN_OR_RETURN(const auto length, memory_->get<std::uint16_t>(symbol + length_at));
  if (length == 0) return fail(ErrorCode::kInvalid, "a class without a name");
  std::string name(std::min<std::size_t>(length, kMaxClassName), '\0');
  RETURN_IF_ERROR(memory_->read(symbol + body_at, std::as_writable_bytes(std::span(name))));
  const bool is_text = std::ranges::none_of(name, [](char c) { return c >= 0 && c < ' '; });
  if (!is_text) return fail(ErrorCode::kInvalid, "a class whose name is none");
  return name;
}

std::string readable_class_name(std::string_view name) {
  static constexpr std::pair<char, std::string_view> kPrimitives[] = {{'B', "byte"},  {'C', "char"},   {'D', "double"},
                                                                      {'F', "float"}, {'I', "int"},    {'J', "long"},
                                                                      {'S', "short"}, {'Z', "boolean"}};
  std::size_t dimensions = 0;
  while (dimensions < name.size() && name[dimensions] == '[') ++dimensions;
  std::string_view element = name.substr(dimensions);
  std::string text;
  if (dimensions > 0 && element.size() == 1) {
    for (const auto& [letter, word] : kPrimitives) {
      if (element[0] == letter) text = word;
    }
  } else if (dimensions > 0 && element.starts_with('L')) {
    element = element.substr(1, element.size() - 1 - (element.ends_with(';') ? 1 : 0));
  }
  if (text.empty()) text = element.substr(0, std::min(element.find("+0x"), element.find("/0x")));
  std::ranges::replace(text, '/', '.');
  for (std::size_t i = 0; i < std::min<std::size_t>(dimensions, 8); ++i) text += "[]";
  return printable(text, 160);
}

}  // namespace oomw::jvm
