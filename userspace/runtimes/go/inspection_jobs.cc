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
#include "memory/resident_source.h"
#include "process/open_memory.h"
#include "process/process_files.h"
#include "reader/wire_fields.h"
#include "runtimes/go/binary_fields.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/heap_reader.h"
#include "runtimes/go/names_job.h"

namespace oomw::go {
namespace {

using reader::WireReader, reader::WireWriter;

bool fits_together(const GoBinary& binary) {
  const bool has_list = binary.variables.buckets.has_value();
  if (binary.bss.begin > binary.bss.end || binary.text.begin > binary.text.end) return false;
  if (binary.profiling == Profiling::kAvailable) return binary.is_go && has_list;
  return binary.profiling != Profiling::kNarrow || (binary.is_go && !has_list);
}

GoBinary not_inspected(const Error& error) {
  GoBinary binary;
  binary.why = printable(error.message, kMaxWhyChars.most);
  return binary;
}

}  // namespace

std::string encode_binary(const GoBinary& binary) { return reader::to_wire<Wire>(binary); }

Result<GoBinary> decode_binary(std::string_view answer) {
  ASSIGN_OR_RETURN(GoBinary binary, (reader::from_wire<Wire, GoBinary>(answer)));
  if (!fits_together(binary)) return fail(ErrorCode::kInvalid, "the reader answered something else");
  return binary;
}

Result<std::uint64_t> decode_list_head(std::string_view answer, elf::AddressRange bss) {
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
  elf::AddressRange bss;
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

Result<std::uint64_t> SandboxedInspector::find_list_head(const OpenMemory& memory, elf::AddressRange bss,
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
