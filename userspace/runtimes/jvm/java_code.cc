// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/java_code.h"

#include <algorithm>
#include <array>
#include <span>

#include "runtimes/jvm/compressed_numbers.h"

namespace oomw::jvm {
namespace {

constexpr std::int32_t kMaxHeaps = 8;    // OpenJDK has at most four
constexpr std::uint32_t kMaxShift = 16;  // segments of 64 or 128 B
constexpr int kMaxHops = 4096;           // of up to 254 segments
constexpr std::uint8_t kFree = 255;      // in the map of segments
constexpr std::uint64_t kMaxFrame = 1u << 20;
constexpr std::uint64_t kMaxPlaces = 1u << 20;
constexpr std::uint32_t kMaxMethods = 1u << 20;

tl::unexpected<Error> broken(const char* what) { return fail(ErrorCode::kInvalid, what); }

Result<AddressSpan> used_part(const Jvm& jvm, std::uint64_t virtual_space) {
  ASSIGN_OR_RETURN(const std::uint64_t begin, jvm.word(virtual_space, "VirtualSpace", "_low"));
  ASSIGN_OR_RETURN(const std::uint64_t end, jvm.word(virtual_space, "VirtualSpace", "_high"));
  if (begin == 0 || begin > end) return broken("a part of the code cache that is none");
  return AddressSpan{begin, end};
}

// One heap in version 8, a list of them since.
Result<std::vector<std::uint64_t>> heaps_of(const Jvm& jvm) {
  if (jvm.structs().address("CodeCache", "_heap")) {
    ASSIGN_OR_RETURN(const std::uint64_t heap, jvm.word("CodeCache", "_heap"));
    return std::vector{heap};
  }
  ASSIGN_OR_RETURN(const std::uint64_t list, jvm.word("CodeCache", "_heaps"));
  ASSIGN_OR_RETURN(const std::uint64_t data_at, jvm.offset("GrowableArray<int>", "_data"));
  const bool is_old = jvm.structs().offset("GenericGrowableArray", "_len").has_value();
  ASSIGN_OR_RETURN(const std::int32_t count,
                   jvm.number(list, is_old ? "GenericGrowableArray" : "GrowableArrayBase", "_len"));
  ASSIGN_OR_RETURN(const auto data, jvm.memory().get<std::uint64_t>(list + data_at));
  std::vector<std::uint64_t> heaps;
  for (std::int32_t i = 0; i < std::clamp(count, 0, kMaxHeaps); ++i) {
    ASSIGN_OR_RETURN(const auto heap, jvm.memory().get<std::uint64_t>(data + 8 * static_cast<std::uint32_t>(i)));
    heaps.push_back(heap);
  }
  return heaps;
}

Result<AddressSpan> interpreter_of(const Jvm& jvm) {
  ASSIGN_OR_RETURN(const std::uint64_t queue, jvm.word("AbstractInterpreter", "_code"));
  ASSIGN_OR_RETURN(const std::uint64_t begin, jvm.word(queue, "StubQueue", "_stub_buffer"));
  ASSIGN_OR_RETURN(const std::int32_t bytes, jvm.number(queue, "StubQueue", "_buffer_limit"));
  if (begin == 0 || bytes <= 0) return broken("an interpreter without code");
  return AddressSpan{begin, begin + static_cast<std::uint32_t>(bytes)};
}

}  // namespace

Result<JavaCode> JavaCode::open(const Jvm& jvm) {
  JavaCode code;
  const auto cache = jvm.code_cache();
  if (!cache) return fail(ErrorCode::kUnsupported, "this JVM does not say where its code is");
  code.cache_ = *cache;
  RETURN_IF_ERROR(code.read_offsets(jvm));
  ASSIGN_OR_RETURN(code.interpreter_, interpreter_of(jvm));
  ASSIGN_OR_RETURN(const std::vector<std::uint64_t> heaps, heaps_of(jvm));
  for (const std::uint64_t heap : heaps) RETURN_IF_ERROR(code.add_heap(jvm, heap));
  return code;
}

Result<> JavaCode::read_offsets(const Jvm& jvm) {
  const auto size = [&](std::string_view type) { return jvm.structs().size_of(type).value_or(0); };
  header_bytes_ = size("HeapBlock");
  place_bytes_ = size("PcDesc");
  const bool is_in_between = jvm.structs().offset("CompiledMethod", "_method").has_value();  // 9 to 22
  method_type_ = is_in_between ? "CompiledMethod" : "nmethod";
  const bool is_known = header_bytes_ >= 8 && place_bytes_ >= 16;
  return is_known ? Result<>() : fail(ErrorCode::kUnsupported, "this JVM does not describe its code");
}

Result<> JavaCode::add_heap(const Jvm& jvm, std::uint64_t heap) {
  ASSIGN_OR_RETURN(const std::uint64_t memory_at, jvm.offset("CodeHeap", "_memory"));
  ASSIGN_OR_RETURN(const std::uint64_t map_at, jvm.offset("CodeHeap", "_segmap"));
  ASSIGN_OR_RETURN(const std::int32_t shift, jvm.number(heap, "CodeHeap", "_log2_segment_size"));
  if (shift < 4 || static_cast<std::uint32_t>(shift) > kMaxShift) return broken("segments of nonsense");
  Heap one;
  one.shift = static_cast<std::uint32_t>(shift);
  // All that it may grow to: a kept JavaCode must know the code that comes later.
  ASSIGN_OR_RETURN(one.span.begin, jvm.word(heap + memory_at, "VirtualSpace", "_low_boundary"));
  ASSIGN_OR_RETURN(one.span.end, jvm.word(heap + memory_at, "VirtualSpace", "_high_boundary"));
  ASSIGN_OR_RETURN(const AddressSpan map, used_part(jvm, heap + map_at));
  if (one.span.begin < cache_.begin || one.span.begin >= one.span.end || one.span.end > cache_.end) {
    return broken("a heap of code outside of the code cache");
  }
  one.map = map.begin;
  heaps_.push_back(one);
  return {};
}

// The map has, for each segment of a block but the first, how far back to go for its begin, or at least nearer to it.
Result<std::uint64_t> JavaCode::block_of(const Jvm& jvm, const Heap& heap, std::uint64_t pc) const {
  std::uint64_t segment = (pc - heap.span.begin) >> heap.shift;
  for (int i = 0; i < kMaxHops; ++i) {
    ASSIGN_OR_RETURN(const auto back, jvm.memory().get<std::uint8_t>(heap.map + segment));
    if (back == 0) return heap.span.begin + (segment << heap.shift);
    if (back == kFree || back > segment) break;
    segment -= back;
  }
  return broken("no code there");
}

Result<CodeBlob> JavaCode::blob_at(const Jvm& jvm, std::uint64_t pc) const {
  const auto heap = std::ranges::find_if(heaps_, [&](const Heap& one) { return one.span.contains(pc); });
  if (heap == heaps_.end()) return broken("outside of the code cache");
  ASSIGN_OR_RETURN(const std::uint64_t block, block_of(jvm, *heap, pc));
  ASSIGN_OR_RETURN(const std::uint64_t header_at, jvm.offset("HeapBlock", "_header"));
  ASSIGN_OR_RETURN(const std::uint64_t length_at, jvm.offset("HeapBlock::Header", "_length"));
  ASSIGN_OR_RETURN(const std::uint64_t used_at, jvm.offset("HeapBlock::Header", "_used"));
  // Of 8 bytes before 20: there are no 4 GiB of code.
  ASSIGN_OR_RETURN(const auto length, jvm.memory().get<std::uint32_t>(block + header_at + length_at));
  ASSIGN_OR_RETURN(const auto used, jvm.memory().get<std::uint8_t>(block + header_at + used_at));
  CodeBlob blob;
  blob.span = {block, block + (std::uint64_t{length} << heap->shift)};
  if (used != 1 || !blob.span.contains(pc) || blob.span.end > heap->span.end) return broken("no code there");
  blob.address = block + header_bytes_;
  ASSIGN_OR_RETURN(const std::int32_t words, jvm.number(blob.address, "CodeBlob", "_frame_size"));
  if (words < 0 || static_cast<std::uint64_t>(words) * 8 > kMaxFrame) return broken("a frame of nonsense");
  blob.frame_bytes = static_cast<std::uint64_t>(words) * 8;
  if (jvm.structs().offset("CodeBlob", "_code_begin")) {
    ASSIGN_OR_RETURN(blob.code, jvm.word(blob.address, "CodeBlob", "_code_begin"));
  } else {
    ASSIGN_OR_RETURN(const std::int32_t at, jvm.number(blob.address, "CodeBlob", "_code_offset"));
    blob.code = blob.address + static_cast<std::uint32_t>(at);
  }
  if (!blob.span.contains(blob.code)) return broken("code outside of its block");
  ASSIGN_OR_RETURN(const std::uint64_t ready_at, jvm.offset("CodeBlob", "_frame_complete_offset"));
  // Of 4 bytes before 22; such a prologue is short in all.
  ASSIGN_OR_RETURN(const auto ready, jvm.memory().get<std::int16_t>(blob.address + ready_at));
  blob.ready = blob.code + static_cast<std::uint64_t>(std::max<std::int16_t>(ready, 0));
  const auto method = jvm.word(blob.address, method_type_, "_method");
  if (blob.frame_bytes > 0 && method.has_value() && method_name(jvm, *method).has_value()) blob.method = *method;
  return blob;
}

Result<std::string> JavaCode::method_name(const Jvm& jvm, std::uint64_t method) const {
  if (method == 0 || (method & 7) != 0) return broken("no method");
  ASSIGN_OR_RETURN(const std::uint64_t fixed, jvm.word(method, "Method", "_constMethod"));
  ASSIGN_OR_RETURN(const std::uint64_t constants, jvm.word(fixed, "ConstMethod", "_constants"));
  ASSIGN_OR_RETURN(const std::uint64_t name_at, jvm.offset("ConstMethod", "_name_index"));
  ASSIGN_OR_RETURN(const auto index, jvm.memory().get<std::uint16_t>(fixed + name_at));
  ASSIGN_OR_RETURN(const std::uint64_t klass, jvm.word(constants, "ConstantPool", "_pool_holder"));
  ASSIGN_OR_RETURN(const std::string owner, jvm.class_name(klass));
  ASSIGN_OR_RETURN(const std::string name, jvm.constant_text(constants, index));
  return readable_class_name(owner) + "." + name;
}

// Until 22 the tables stand in the block itself, by offsets; since 23 they have memory of their own.
Result<JavaCode::Scopes> JavaCode::scopes_of(const Jvm& jvm, const CodeBlob& blob) const {
  const std::uint64_t at = blob.address;
  const auto number = [&](std::string_view type, std::string_view field) -> Result<std::uint64_t> {
    ASSIGN_OR_RETURN(const std::int32_t value, jvm.number(at, type, field));
    if (value < 0) return broken("a table of nonsense");
    return static_cast<std::uint64_t>(value);
  };
  Scopes scopes;
  ASSIGN_OR_RETURN(const std::uint64_t places, number("nmethod", "_scopes_pcs_offset"));
  if (jvm.structs().offset("nmethod", "_immutable_data")) {
    ASSIGN_OR_RETURN(const std::uint64_t data, number("nmethod", "_scopes_data_offset"));
    ASSIGN_OR_RETURN(const std::uint64_t fixed, jvm.word(at, "nmethod", "_immutable_data"));
    ASSIGN_OR_RETURN(const std::uint64_t relocations, number("CodeBlob", "_relocation_size"));
    ASSIGN_OR_RETURN(const std::uint64_t changing, jvm.word(at, "CodeBlob", "_mutable_data"));
    scopes = {fixed + places, fixed + data, fixed + data, changing + relocations};
  } else {
    ASSIGN_OR_RETURN(const std::uint64_t end, number("nmethod", "_dependencies_offset"));
    ASSIGN_OR_RETURN(const std::uint64_t methods, number("nmethod", "_metadata_offset"));
    scopes = {at + places, at + end, 0, at + methods};
    if (method_type_ == "nmethod") {
      ASSIGN_OR_RETURN(const std::uint64_t data, number("nmethod", "_scopes_data_offset"));
      scopes.data = at + data;
    } else {
      ASSIGN_OR_RETURN(scopes.data, jvm.word(at, "CompiledMethod", "_scopes_data_begin"));
    }
  }
  return scopes;
}

std::uint64_t JavaCode::places_of(const Scopes& scopes) const {
  if (scopes.places_end < scopes.places) return 0;
  return std::min((scopes.places_end - scopes.places) / place_bytes_, kMaxPlaces);
}

Result<std::uint64_t> JavaCode::place_behind(const Jvm& jvm, const CodeBlob& blob, const Scopes& scopes,
                                             std::uint64_t pc) const {
  ASSIGN_OR_RETURN(const std::uint64_t pc_at, jvm.offset("PcDesc", "_pc_offset"));
  std::uint64_t from = 0, end = places_of(scopes);
  const auto wanted = static_cast<std::int64_t>(pc - blob.code);
  while (from < end) {
    const std::uint64_t middle = from + (end - from) / 2;
    ASSIGN_OR_RETURN(const auto offset, jvm.memory().get<std::int32_t>(scopes.places + middle * place_bytes_ + pc_at));
    if (offset < wanted) {
      from = middle + 1;
    } else {
      end = middle;
    }
  }
  return from;
}

Result<std::vector<std::uint64_t>> JavaCode::chain(const Jvm& jvm, const Scopes& scopes, std::uint32_t scope,
                                                   bool has_zeros) {
  std::vector<std::uint64_t> methods;
  while (scope != 0 && methods.size() < kMaxInlined) {
    std::array<std::uint8_t, 10> text{};  // of the caller's scope, of the method's number
    const std::span<std::uint8_t> bytes(text);
    ASSIGN_OR_RETURN(const std::size_t size,
                     jvm.memory().read_some(scopes.data + scope, std::as_writable_bytes(bytes)));
    CompressedNumbers numbers(bytes.first(size), has_zeros);
    ASSIGN_OR_RETURN(const std::uint32_t caller, numbers.next());
    ASSIGN_OR_RETURN(const std::uint32_t number, numbers.next());
    // A caller's scope is written before those that are inlined into it.
    if (caller >= scope || number == 0 || number > kMaxMethods) return broken("a scope of nonsense");
    ASSIGN_OR_RETURN(const auto method,
                     jvm.memory().get<std::uint64_t>(scopes.methods + 8 * (std::uint64_t{number} - 1)));
    methods.push_back(method);
    scope = caller;
  }
  return methods;
}

// The blob's own alone where its scopes do not lead to it.
std::vector<std::uint64_t> JavaCode::methods_of_place(const Jvm& jvm, const CodeBlob& blob, const Scopes& scopes,
                                                      std::uint64_t place) const {
  const std::uint64_t at = scopes.places + place * place_bytes_;
  const auto scope_at = jvm.offset("PcDesc", "_scope_decode_offset");
  const auto scope = jvm.memory().get<std::int32_t>(at + scope_at.value_or(0));
  if (!scope_at.has_value() || !scope.has_value() || *scope <= 0) return {blob.method};
  // A chain ends at a zero, which only one of the forms has as such: what reads as that form is of it.
  for (const bool has_zeros : {true, false}) {
    auto methods = chain(jvm, scopes, static_cast<std::uint32_t>(*scope), has_zeros);
    const bool is_proved = methods.has_value() && !methods->empty() && methods->back() == blob.method;
    if (is_proved) return std::move(*methods);
  }
  return {blob.method};
}

std::vector<std::uint64_t> JavaCode::methods_at(const Jvm& jvm, const CodeBlob& blob, std::uint64_t pc,
                                                bool is_exact) const {
  constexpr std::uint64_t kEnds = 2;  // the first and the last place are none; what calls native code has only them
  if (blob.method == 0 || pc < blob.code) return {};
  const auto scopes = scopes_of(jvm, blob);
  if (!scopes.has_value() || places_of(*scopes) <= kEnds) return {blob.method};
  const auto behind = place_behind(jvm, blob, *scopes, pc);
  if (!behind.has_value()) return {};
  const auto begins_at = [&](std::uint64_t place) {
    const auto pc_at = jvm.offset("PcDesc", "_pc_offset");
    return jvm.memory().get<std::int32_t>(scopes->places + place * place_bytes_ + pc_at.value_or(0)).value_or(-1);
  };
  const bool is_within = *behind < places_of(*scopes);
  if (!is_exact) {
    const bool is_call = is_within && begins_at(*behind) == static_cast<std::int64_t>(pc - blob.code);
    return is_call ? methods_of_place(jvm, blob, *scopes, *behind) : std::vector<std::uint64_t>();
  }
  if (!is_within || *behind == 0) return {blob.method};
  std::vector<std::uint64_t> methods = methods_of_place(jvm, blob, *scopes, *behind);
  const std::vector<std::uint64_t> before = methods_of_place(jvm, blob, *scopes, *behind - 1);
  const auto differs = std::mismatch(methods.rbegin(), methods.rend(), before.rbegin(), before.rend());
  methods.erase(methods.begin(), differs.first.base());
  return methods;
}

void JavaCode::refresh(const Jvm& jvm) {
  if (const auto now = interpreter_of(jvm); now.has_value()) interpreter_ = *now;
}

}  // namespace oomw::jvm
