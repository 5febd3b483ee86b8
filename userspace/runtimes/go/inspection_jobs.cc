// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/inspection_jobs.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/text.h"
#include "memory/deadline_source.h"
#include "memory/process_files.h"
#include "memory/resident_source.h"
#include "reader/wire.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/heap_reader.h"
#include "runtimes/go/names_job.h"

namespace oomw::go {
namespace {

using reader::WireReader, reader::WireWriter;

constexpr std::size_t kMaxBuildId = 256, kMaxWhy = 512;

// Everything that is out of its bounds makes the whole answer worthless.
class BinaryReader {
 public:
  explicit BinaryReader(std::string_view bytes) : in_(bytes) {}

  [[nodiscard]] std::uint64_t number() { return in_.number(); }
  [[nodiscard]] std::uint64_t number_up_to(std::uint64_t last) {
    const std::uint64_t value = in_.number();
    is_good_ = is_good_ && value <= last;
    return is_good_ ? value : 0;
  }
  [[nodiscard]] bool flag() { return number_up_to(1) == 1; }
  [[nodiscard]] std::optional<std::uint64_t> address() {
    const bool is_known = flag();
    const std::uint64_t value = in_.number();
    return is_known ? std::optional(value) : std::nullopt;
  }
  [[nodiscard]] AddressRange range() {
    AddressRange range;
    range.begin = in_.number();
    range.end = in_.number();
    is_good_ = is_good_ && range.begin <= range.end;
    return range;
  }
  [[nodiscard]] std::string text(std::size_t max_chars) {
    const std::string_view text = in_.text();
    is_good_ = is_good_ && text.size() <= max_chars;
    return is_good_ ? printable(text, max_chars) : std::string();
  }
  [[nodiscard]] bool is_complete() const { return is_good_ && in_.is_complete(); }

 private:
  WireReader in_;
  bool is_good_ = true;
};

bool fits_together(const GoBinary& binary) {
  const bool has_list = binary.variables.buckets.has_value();
  if (binary.profiling == Profiling::kAvailable) return binary.is_go && has_list;
  return binary.profiling != Profiling::kNarrow || (binary.is_go && !has_list);
}

GoBinary not_inspected(const Error& error) {
  GoBinary binary;
  binary.why = printable(error.message, kMaxWhy);
  return binary;
}

}  // namespace

std::string encode_binary(const GoBinary& binary) {
  WireWriter out;
  out.number(binary.is_go).number(binary.is_collector).text(binary.go_version.substr(0, GoBinary::kMaxVersion));
  out.text(binary.build_id.substr(0, kMaxBuildId)).number(static_cast<std::uint64_t>(binary.machine));
  out.number(binary.is_position_independent).number(binary.entry).number(binary.bss.begin).number(binary.bss.end);
  out.number(binary.text_start).number(binary.text.begin).number(binary.text.end);
  write_variables(out, binary.variables);
  out.number(static_cast<std::uint64_t>(binary.method)).number(binary.cross_checked);
  out.number(static_cast<std::uint64_t>(binary.profiling)).text(binary.why.substr(0, kMaxWhy));
  return out.take();
}

Result<GoBinary> decode_binary(std::string_view answer) {
  BinaryReader in(answer);
  GoBinary binary;
  binary.is_go = in.flag();
  binary.is_collector = in.flag();
  binary.go_version = in.text(GoBinary::kMaxVersion);
  binary.build_id = in.text(kMaxBuildId);
  binary.machine = static_cast<Machine>(in.number_up_to(static_cast<std::uint64_t>(Machine::kArm64)));
  binary.is_position_independent = in.flag();
  binary.entry = in.number();
  binary.bss = in.range();
  binary.text_start = in.number();
  binary.text = in.range();
  binary.variables.buckets = in.address();
  binary.variables.rate = in.address();
  binary.variables.cycle = in.address();
  binary.method = static_cast<LocateMethod>(in.number_up_to(static_cast<std::uint64_t>(LocateMethod::kScan)));
  binary.cross_checked = in.flag();
  binary.profiling = static_cast<Profiling>(in.number_up_to(static_cast<std::uint64_t>(Profiling::kNarrow)));
  binary.why = in.text(kMaxWhy);
  if (!in.is_complete() || !fits_together(binary)) {
    return fail(ErrorCode::kInvalid, "the reader answered something else");
  }
  return binary;
}

Result<std::uint64_t> decode_list_head(std::string_view answer, AddressRange bss) {
  WireReader in(answer);
  const std::uint64_t head = in.number();
  if (!in.is_complete() || head % 8 != 0 || !bss.contains(head)) {
    return fail(ErrorCode::kInvalid, "the reader answered something else");
  }
  return head;
}

Result<std::string> inspect_binary_job(std::string_view parameters, std::span<const UniqueFd> files) {
  if (!parameters.empty() || files.size() != 1) return fail(ErrorCode::kInternal, "not what an inspection needs");
  ASSIGN_OR_RETURN(const GoBinary binary, inspect_binary(files.front().get()));
  return encode_binary(binary);
}

Result<std::string> find_list_head_job(std::string_view parameters, std::span<const UniqueFd> files) {
  WireReader in(parameters);
  AddressRange bss;
  bss.begin = in.number();
  bss.end = in.number();
  const auto pid = static_cast<int>(in.number());
  const bool are_files_right = files.size() == 1 || files.size() == 2;
  if (!in.is_complete() || !are_files_right) return fail(ErrorCode::kInternal, "not what a search needs");
  const SystemClock clock;
  const MemorySource memory(files[0].get(), pid);
  const int page_map = files.size() == 2 ? files[1].get() : -1;
  const ResidentSource resident(memory, page_map, ResidentSource::Absent::kZeros, pid);
  const DeadlineSource bounded(resident, clock, clock.now() + SandboxedInspector::kSearchTime);
  ASSIGN_OR_RETURN(const std::uint64_t head, scan_for_list_head(bounded, bss));
  return WireWriter().number(head).take();
}

namespace {

reader::ReaderConfig config_of(reader::ReaderConfig config, reader::UnreapedReaders& unreaped) {
  config.unreaped = &unreaped;
  config.is_ahead = true;
  return config;
}

}  // namespace

SandboxedInspector::SandboxedInspector(const Clock& clock, reader::ReaderConfig config)
    : clock_(clock),
      inspectors_(clock, config_of(config, unreaped_), kReaders),
      heap_readers_(clock, config_of(config, unreaped_), kHeapReaders) {}

reader::ReaderGroup::Answer SandboxedInspector::inspect_by(std::uint32_t kind, const std::string& parameters,
                                                           std::span<const int> files,
                                                           std::span<const std::string> owners) {
  const MonotonicTime deadline = clock_.now() + kPatience;
  auto answer = inspectors_.run(kind, parameters, files, kTimeLimit, deadline, owners);
  // A process that could not be started, or was ended for want of memory on the node, is replaced once.
  const bool has_failed = !answer && answer.error().fault == reader::Fault::kFailed;
  if (has_failed) answer = inspectors_.run(kind, parameters, files, kTimeLimit, deadline, owners);
  return answer;
}

bool SandboxedInspector::refuses(const std::function<std::string()>& owner) {
  if (unreaped_.count() == 0) return false;
  const std::string name = owner();
  if (!unreaped_.holds(std::span(&name, 1))) return false;
  ++refused_;
  return true;
}

Result<GoBinary> SandboxedInspector::inspect(int exe_fd, std::span<const std::string> owners) {
  const auto answer = inspect_by(kInspectBinaryJob, "", std::span(&exe_fd, 1), owners);
  if (answer) return decode_binary(*answer);
  const reader::Failure& failure = answer.error();
  // No readable ELF, or one that takes more memory than any program's: both would be the same the next time.
  const bool is_settled = failure.fault == reader::Fault::kNone || failure.fault == reader::Fault::kLimit;
  if (is_settled) return not_inspected(failure.error);
  return fail(failure.error.code == ErrorCode::kTimeout ? ErrorCode::kTimeout : ErrorCode::kUnavailable,
              "its executable was not inspected: " + failure.error.message);
}

Result<std::uint64_t> SandboxedInspector::find_list_head(const OpenMemory& memory, AddressRange bss,
                                                         std::span<const std::string> owners) {
  const std::string parameters =
      WireWriter().number(bss.begin).number(bss.end).number(static_cast<std::uint64_t>(memory.pid)).take();
  const std::array<int, 2> both = {memory.memory.get(), memory.page_map.get()};
  const auto files = std::span(both).first(memory.page_map.is_valid() ? 2 : 1);
  const auto answer = inspect_by(kFindListHeadJob, parameters, files, owners);
  if (!answer) return tl::make_unexpected(answer.error().error);
  return decode_list_head(*answer, bss);
}

template <typename Decode>
auto SandboxedInspector::read_by(std::uint32_t kind, const std::string& parameters, std::span<const int> inputs,
                                 MonotonicTime deadline, std::span<const std::string> owners, const Decode& decode)
    -> tl::expected<typename std::invoke_result_t<Decode, std::string_view, int>::value_type, reader::Failure> {
  const auto failed = [](reader::Fault fault, Error error) {
    return tl::make_unexpected(reader::Failure{fault, std::move(error)});
  };
  for (bool is_first = true;; is_first = false) {
    const UniqueFd output(::memfd_create("oomw-reading", MFD_CLOEXEC));
    if (!output.is_valid()) return failed(reader::Fault::kFailed, errno_error(errno, "memfd_create"));
    std::vector<int> files = {output.get()};
    files.insert(files.end(), inputs.begin(), inputs.end());
    const MonotonicTime until = deadline + kHandOver;
    auto answer = heap_readers_.run(kind, parameters, files, until - clock_.now(), until, owners);
    if (answer) {
      auto decoded = decode(*answer, output.get());
      if (!decoded) return failed(reader::Fault::kFailed, std::move(decoded).error());
      return std::move(*decoded);
    }
    // As for inspections: replaced once.
    const bool is_final = !is_first || answer.error().fault != reader::Fault::kFailed;
    if (is_final) return tl::make_unexpected(std::move(answer).error());
  }
}

tl::expected<HeapEvidence, reader::Failure> SandboxedInspector::read_heap(const OpenMemory& memory,
                                                                          const HeapTarget& target,
                                                                          MonotonicTime deadline,
                                                                          std::span<const std::string> owners) {
  const std::array<int, 2> both = {memory.memory.get(), memory.page_map.get()};
  const auto inputs = std::span(both).first(memory.page_map.is_valid() ? 2 : 1);
  return read_by(kReadHeapJob, read_heap_parameters(memory, target, deadline), inputs, deadline, owners,
                 decode_evidence);
}

Result<NamedFrames> SandboxedInspector::name_frames(int exe_fd, std::span<const WantedAddress> wanted,
                                                    MonotonicTime deadline, std::span<const std::string> owners) {
  const UniqueFd addresses(::memfd_create("oomw-addresses", MFD_CLOEXEC));
  if (!addresses.is_valid()) return fail_errno(errno, "memfd_create");
  RETURN_IF_ERROR(write_wanted(addresses.get(), wanted));
  const MonotonicTime soon = std::min(deadline, clock_.now() + kNamingTime);
  const std::array<int, 2> inputs = {addresses.get(), exe_fd};
  auto named = read_by(kNameFramesJob, name_frames_parameters(soon), inputs, soon, owners,
                       [&](std::string_view, int file) { return read_named(file, wanted); });
  if (!named) return tl::make_unexpected(std::move(named).error().error);
  return std::move(*named);
}

void SandboxedInspector::tick() {
  inspectors_.tick();
  heap_readers_.tick();
}

std::vector<reader::ReaderCounters> SandboxedInspector::counters() const {
  std::vector<reader::ReaderCounters> all = inspectors_.counters();
  all.front().by_kind[kInspectBinaryJob].refused += refused_;
  const auto heaps = heap_readers_.counters();
  all.insert(all.end(), heaps.begin(), heaps.end());
  return all;
}

}  // namespace oomw::go
