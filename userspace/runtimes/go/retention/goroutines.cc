// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/goroutines.h"

#include <algorithm>
#include <array>
#include <set>

namespace oomw::go::retention {

namespace {

constexpr std::size_t kRecordBytes = 384;                                             // of a g: the fields we need
constexpr std::size_t kStackLow = 0, kStackHigh = 8, kSp = 56, kPc = 64, kSelf = 72;  // in all versions
// Status of a g (runtime2.go): dead; from Go 1.26 on one that waits for a thread of C, in every program with cgo.
constexpr std::uint32_t kDead = 6, kDeadExtra = 11, kMaxStatus = kDeadExtra;
constexpr std::uint64_t kMaxStack = std::uint64_t{1} << 30;
constexpr std::size_t kSample = 200;
constexpr std::size_t kNone = 0;

using Record = std::array<std::byte, kRecordBytes>;

// A g names itself in its saved registers. A dead one has no stack.
bool is_goroutine(const Record& record, std::uint64_t address) {
  const auto low = value_at<std::uint64_t>(record, kStackLow), high = value_at<std::uint64_t>(record, kStackHigh);
  return value_at<std::uint64_t>(record, kSelf) == address && (low < high || (low == 0 && high == 0));
}

bool is_without_stack(std::uint32_t status) { return status == 0 || status == kDead || status == kDeadExtra; }

GoroutineState state_of(std::uint32_t status) {
  constexpr std::array kStates = {GoroutineState::kIdle, GoroutineState::kRunnable, GoroutineState::kRunning,
                                  GoroutineState::kSyscall, GoroutineState::kWaiting};
  return status < kStates.size() ? kStates[status] : GoroutineState::kOther;
}

}  // namespace

std::string_view to_string(GoroutineState state) {
  switch (state) {
    case GoroutineState::kIdle:
      return "idle";
    case GoroutineState::kRunnable:
      return "runnable";
    case GoroutineState::kRunning:
      return "running";
    case GoroutineState::kSyscall:
      return "in a system call";
    case GoroutineState::kWaiting:
      return "waiting";
    case GoroutineState::kOther:
      return "other";
  }
  return "other";
}

bool Goroutines::is_list(std::uint64_t address) {
  constexpr std::uint64_t kProbes = 16, kFewest = 4;  // every Go program has four goroutines of the runtime's own
  const auto slice = memory_->get<Slice>(address);
  if (!slice.has_value() || slice->data % 8 != 0 || slice->data < 0x10000 || slice->length < kFewest ||
      slice->length > slice->capacity || slice->capacity > (1U << 24)) {
    return false;
  }
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < std::min(slice->length, kProbes); ++i) {
    const auto g = memory_->get<std::uint64_t>(slice->data + 8 * i);
    const auto record = g.has_value() && *g % 8 == 0 ? memory_->get<Record>(*g) : fail(ErrorCode::kInvalid, "");
    if (!record.has_value() || !is_goroutine(*record, *g) || !seen.insert(*g).second) return false;
  }
  return true;
}

Result<Goroutines> Goroutines::locate(Image& image, CachedReader& memory) {
  Goroutines found(image, memory);
  const Function* grow = image.named("runtime.allgadd");
  if (!grow) return fail(ErrorCode::kUnsupported, "the list of goroutines was not found in the runtime's code");
  for (const std::uint64_t reference : image.references(*grow)) {
    // Any of the slice's three words may be what the code refers to.
    for (std::uint64_t back = 0; back <= 16 && found.list_ == 0; back += 8) {
      const std::uint64_t address = reference - back;
      const bool is_global = address % 8 == 0 && (image.bss().contains(address) || image.data().contains(address));
      if (is_global && found.is_list(address)) found.list_ = address;
    }
  }
  if (found.list_ == 0) return fail(ErrorCode::kUnsupported, "the list of goroutines did not verify");
  RETURN_IF_ERROR(found.find_layout());
  const auto base = found.find_function_data();
  if (!base) return fail(ErrorCode::kUnsupported, "the stack maps were not found");
  found.function_data_ = *base;
  RETURN_IF_ERROR(found.refresh());
  return found;
}

Result<> Goroutines::find_layout() {
  ASSIGN_OR_RETURN(const auto slice, memory_->get<Slice>(list_));
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(slice.length, kSample); ++i) {
    ASSIGN_OR_RETURN(const auto address, memory_->get<std::uint64_t>(slice.data + 8 * i));
    ASSIGN_OR_RETURN(records.emplace_back(), memory_->get<Record>(address));
  }
  for (const std::size_t offset : {144U, 152U, 160U}) {  // status, and 8 bytes on the goroutine's number
    std::set<std::uint64_t> ids;
    bool fits = true;
    std::size_t living = 0;
    for (const Record& r : records) {
      const std::uint32_t status = value_at<std::uint32_t>(r, offset) & ~kScanBit;
      const auto id = value_at<std::uint64_t>(r, offset + 8);
      const bool is_living = !is_without_stack(status);
      fits = fits && status <= kMaxStatus &&
             (!is_living || (id > 0 && id < (std::uint64_t{1} << 48) && ids.insert(id).second));
      living += is_living ? 1 : 0;
    }
    if (fits && living >= 1) {
      layout_.status = offset;
      break;
    }
  }
  // The function it began with: the word that is a function's entry in most of them.
  std::size_t best = 0;
  for (std::size_t offset = 200; offset + 8 <= kRecordBytes; offset += 8) {
    const auto entries = static_cast<std::size_t>(std::count_if(records.begin(), records.end(), [&](const Record& r) {
      return image_->find_entry(value_at<std::uint64_t>(r, offset)) != nullptr;
    }));
    if (entries > best) {
      best = entries;
      layout_.start_pc = offset;
    }
  }
  if (layout_.status == kNone || best * 2 < records.size()) {
    return fail(ErrorCode::kUnsupported, "the layout of a goroutine did not verify");
  }
  return {};
}

std::optional<std::uint64_t> Goroutines::find_function_data() {
  constexpr std::uint32_t kLocalsMap = 1;
  constexpr std::size_t kFirst = 34, kLast = 48;  // 38 in Go 1.19, 40 to 1.26, 43 in 1.27
  std::vector<std::uint32_t> offsets;
  const std::uint32_t step = std::max<std::uint32_t>(1, image_->function_count() / 1000);
  for (std::uint32_t i = 0; i < image_->function_count() && offsets.size() < kSample; i += step) {
    const Function* function = image_->function_number(i);
    const auto offset = function ? image_->funcdata(*function, kLocalsMap) : std::nullopt;
    if (offset) offsets.push_back(*offset);
  }
  std::uint64_t best = 0;
  std::size_t best_score = 0;
  for (std::size_t i = kFirst; i <= kLast; ++i) {
    const std::uint64_t base = image_->module_word(i);
    if (base < 0x1000 || base >> 47 != 0) continue;
    std::size_t score = 0;
    for (const std::uint32_t offset : offsets) {
      const auto map = memory_->get<std::array<std::int32_t, 2>>(base + offset);
      score += map.has_value() && (*map)[0] >= 1 && (*map)[0] < 4096 && (*map)[1] >= 0 && (*map)[1] < (1 << 16) ? 1 : 0;
    }
    if (score > best_score) {
      best = base;
      best_score = score;
    }
  }
  if (offsets.size() < 8 || best_score * 10 < offsets.size() * 9) return std::nullopt;
  return best;
}

Result<> Goroutines::refresh() {
  ASSIGN_OR_RETURN(const auto slice, memory_->get<Slice>(list_));
  if (slice.length > (1U << 24)) return fail(ErrorCode::kInvalid, "the list of goroutines changed");
  all_.clear();
  by_address_.clear();
  const std::uint64_t count = std::min<std::uint64_t>(slice.length, kMaxGoroutines);
  not_read_ = slice.length - count;
  std::vector<std::uint64_t> addresses(count);
  RETURN_IF_ERROR(memory_->read(slice.data, std::as_writable_bytes(std::span(addresses))));
  for (const std::uint64_t address : addresses) {
    const auto record = memory_->get<Record>(address);
    if (!record.has_value()) return tl::make_unexpected(record.error());
    if (!is_goroutine(*record, address)) continue;
    const std::uint32_t status = value_at<std::uint32_t>(*record, layout_.status) & ~kScanBit;
    Goroutine g;
    g.stack_low = value_at<std::uint64_t>(*record, kStackLow);
    g.stack_high = value_at<std::uint64_t>(*record, kStackHigh);
    if (is_without_stack(status) || g.stack_high - g.stack_low > kMaxStack || g.stack_high == 0 ||
        g.stack_low % 8 != 0) {
      continue;
    }
    g.address = address;
    g.id = value_at<std::uint64_t>(*record, layout_.status + 8);
    g.sp = value_at<std::uint64_t>(*record, kSp);
    g.pc = value_at<std::uint64_t>(*record, kPc);
    g.state = state_of(status);
    g.start_pc = value_at<std::uint64_t>(*record, layout_.start_pc);
    g.created_at_pc = value_at<std::uint64_t>(*record, layout_.start_pc - 16);
    for (const std::size_t offset : {104U, 112U}) {  // where a system call left the stack
      const auto sp = value_at<std::uint64_t>(*record, offset), pc = value_at<std::uint64_t>(*record, offset + 8);
      if (g.state != GoroutineState::kSyscall || sp <= g.stack_low || sp >= g.stack_high || !image_->find(pc)) continue;
      g.sp = sp;
      g.pc = pc;
    }
    by_address_.emplace(address, static_cast<std::uint32_t>(all_.size()));
    all_.push_back(g);
  }
  return {};
}

std::optional<std::uint32_t> Goroutines::find(std::uint64_t g_address) const {
  const auto it = by_address_.find(g_address);
  return it != by_address_.end() ? std::optional(it->second) : std::nullopt;
}

std::vector<std::byte> Goroutines::read_stack(const Goroutine& g) {
  const std::uint64_t top = g.stack_top() & ~std::uint64_t{7};
  std::vector<std::byte> bytes(std::min(g.stack_high - top, kMaxStackBytes));
  if (!memory_->read(top, bytes).has_value()) bytes.clear();
  return bytes;
}

std::vector<StackFrame> Goroutines::unwind(const Goroutine& g, std::span<const std::byte> stack) {
  std::vector<StackFrame> frames;
  if (g.state == GoroutineState::kRunning) return frames;
  const std::uint64_t base = g.stack_top() & ~std::uint64_t{7};
  std::uint64_t sp = g.sp, pc = g.pc;
  while (frames.size() < kMaxFrames) {
    const Function* function = image_->find(pc);
    if (!function) break;
    // A return address may be the next function's first byte.
    const std::uint64_t inside = !frames.empty() && pc > function->entry ? pc - 1 : pc;
    auto it = frame_bytes_.find(inside);
    if (it == frame_bytes_.end()) {
      if (frame_bytes_.size() >= Image::kMaxFunctions) frame_bytes_.clear();
      it = frame_bytes_.emplace(inside, image_->frame_bytes(*function, inside)).first;
    }
    if (!it->second) break;
    const std::uint64_t top = sp + *it->second;
    frames.push_back({sp, top + 8, function, pc});
    if (top < base || top - base + 8 > stack.size()) break;
    pc = value_at<std::uint64_t>(stack, top - base);
    sp = top + 8;
  }
  return frames;
}

}  // namespace oomw::go::retention
