// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/go_registry.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "process/open_memory.h"
#include "process/target_process.h"
#include "runtimes/go/fault_reason.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/registry_room.h"

namespace oomw {
namespace {

using go::GoBinary;
using go::Profiling;

constexpr int kMaxExecsMeanwhile = 3;
// Checks 4096 processes in 20 minutes, at about 15 us each.
constexpr std::size_t kLivenessChecksPerTick = 16;

std::uint32_t record_words_of(go::RecordLayout layout) {
  switch (layout) {
    case go::RecordLayout::kObjectsAndBytes:
      return 16;
    case go::RecordLayout::kObjects:
      return 8;
    case go::RecordLayout::kNoData:
    case go::RecordLayout::kUnknown:
      break;
  }
  return 0;
}

// Links of /proc: their text comes from the kernel alone. Containers share paths, not mount namespaces.
std::string file_named_by(const TargetProcess& process) {
  return link_of_process(process.dir_fd(), ProcessFile::kExe).value_or("") + " " +
         link_of_process(process.dir_fd(), ProcessFile::kMntNs).value_or("");
}

// "" where it cannot be read: those share one place. Kernel text; paths of many hierarchies are cut from the front.
std::string cgroups_of(ProcessKey process, const std::string& proc_root) {
  constexpr std::size_t kMaxRead = 16'384, kMaxKept = 512;
  const auto text = read_file(proc_root + "/" + std::to_string(process.pid) + "/cgroup", kMaxRead);
  if (!text.has_value()) return "";
  const std::string_view trimmed = trim(*text);
  return std::string(trimmed.substr(trimmed.size() - std::min(trimmed.size(), kMaxKept)));
}

// One that has no disk (FUSE, NFS): a server that does not answer may serve many containers.
std::string file_system_named(const FileIdentity& file) {
  return "file system 0:" + std::to_string(minor(file.device));
}

CaptureReason reason_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnsupported:
      return CaptureReason::kNotGo;
    case ErrorCode::kNotFound:
      return CaptureReason::kGone;
    case ErrorCode::kPermission:
      return CaptureReason::kPermission;
    case ErrorCode::kTimeout:
      return CaptureReason::kTimeout;
    case ErrorCode::kInvalid:
    case ErrorCode::kLimit:
    case ErrorCode::kNoSpace:
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
      break;
  }
  return CaptureReason::kUnreadable;
}

}  // namespace

GoRegistry::GoRegistry(const Clock& clock, GoRegistryConfig config, Watcher watcher)
    : clock_(clock),
      config_(std::move(config)),
      watcher_(std::move(watcher)),
      handles_(config_.max_open_files),
      inspections_(clock),
      binaries_(config_.max_binaries) {}

bool GoRegistry::is_settled(const GoProcess& known, std::optional<MonotonicTime> exec_time) const {
  if (exec_time && *exec_time > known.registered) return false;
  return known.reason != CaptureReason::kNotFound || clock_.now() - known.registered < config_.retry_after;
}

Result<GoProcessPtr> GoRegistry::add(ProcessKey process, std::optional<MonotonicTime> exec_time) {
  if (auto known = find(process); known && is_settled(*known, exec_time)) return known;
  return measure(process, exec_time);
}

Result<GoProcessPtr> GoRegistry::inspect_again(ProcessKey process) { return measure(process, std::nullopt); }

// Uses one /proc/PID throughout, so that file, addresses and start time belong to one process.
Result<GoProcessPtr> GoRegistry::measure(ProcessKey key, std::optional<MonotonicTime> exec_time) {
  handles_.close_unused();
  for (int attempt = 0; attempt < kMaxExecsMeanwhile; ++attempt) {
    const MonotonicTime started = clock_.now();
    ASSIGN_OR_RETURN(const TargetProcess process, TargetProcess::open(config_.proc_root, key));
    const std::string file = file_named_by(process);
    const bool is_refused = config_.inspector != nullptr && config_.inspector->refuses([&] { return owner_of(key); });
    if (is_refused || inspections_.hangs(file))
      return fail(ErrorCode::kTimeout, "its executable's file system does not answer");
    const InspectionsUnderWay::Inspection inspection = inspections_.begin(file);
    // A failure here may mean that the process is exiting: its entry stays, for its walk at the kill.
    ASSIGN_OR_RETURN(Executable exe, open_executable(process));
    if (!exe.binary->is_go) {
      drop(process.key());  // it may have been Go before an exec
      return fail(ErrorCode::kUnsupported, exe.binary->why);
    }
    ASSIGN_OR_RETURN(GoProcessPtr joined, join(process, std::move(exe), started));
    if (joined) return publish(std::move(joined), exec_time);
  }
  return fail(ErrorCode::kUnavailable, "process " + std::to_string(key.pid) + " keeps changing its program");
}

Result<GoRegistry::Executable> GoRegistry::open_executable(const TargetProcess& process) {
  auto fd = open_process_file(process.dir_fd(), ProcessFile::kExe);
  if (!fd.has_value()) {
    const bool has_none = fd.error().code == ErrorCode::kNotFound && process.is_alive();
    if (has_none) return fail(ErrorCode::kUnsupported, "no executable: a kernel thread");
    return tl::make_unexpected(std::move(fd).error());
  }
  Executable exe{std::move(*fd), {}, nullptr};
  ASSIGN_OR_RETURN(exe.identity, identify_file(exe.fd.get()));
  ASSIGN_OR_RETURN(exe.binary, binary_of(exe, process.key()));
  return exe;
}

std::string GoRegistry::owner_of(ProcessKey process) const {
  std::string cgroups = cgroups_of(process, config_.proc_root);
  return config_.owner_of_cgroups ? config_.owner_of_cgroups(cgroups) : cgroups;
}

std::vector<std::string> GoRegistry::owners_of(const Executable& exe, ProcessKey process) const {
  std::vector<std::string> owners = {owner_of(process)};
  if (major(exe.identity.device) == 0) owners.push_back(file_system_named(exe.identity));
  return owners;
}

Result<std::shared_ptr<const GoBinary>> GoRegistry::binary_of(const Executable& exe, ProcessKey process) {
  {
    const std::lock_guard lock(mutex_);
    if (auto known = binaries_.find(exe.identity)) return known;
  }
  std::shared_ptr<const GoBinary> binary;
  if (config_.inspector == nullptr) {
    binary = go::BinaryCache::look_at(exe.fd.get());
  } else {
    ASSIGN_OR_RETURN(GoBinary inspected, config_.inspector->inspect(exe.fd.get(), owners_of(exe, process)));
    binary = std::make_shared<const GoBinary>(std::move(inspected));
  }
  const std::lock_guard lock(mutex_);
  binaries_.put(exe.identity, binary);
  return binary;
}

Result<go::HeapTarget> GoRegistry::locate(const TargetProcess& process, const ProcessImage& image,
                                          const GoBinary& binary) const {
  return go::resolve_target(image, binary, [&](elf::AddressRange bss) -> Result<std::uint64_t> {
    ASSIGN_OR_RETURN(const OpenMemory memory, OpenMemory::open(process));
    if (config_.inspector == nullptr) {
      return go::scan_for_list_head(MemorySource(memory.memory.get(), memory.pid), bss);
    }
    const std::string owner = owner_of(process.key());
    return config_.inspector->find_list_head(memory, bss, std::span(&owner, 1));
  });
}

// Null if the process ran exec since its file was opened.
Result<GoProcessPtr> GoRegistry::join(const TargetProcess& process, Executable exe, MonotonicTime started) {
  auto joined = std::make_shared<GoProcess>();
  joined->key = process.key();
  joined->registered = started;
  joined->binary = exe.binary;
  joined->inspector = config_.inspector;
  joined->file_owners = owners_of(exe, joined->key);
  if (config_.owner_of_cgroups) joined->owner = joined->file_owners.front();
  if (exe.binary->profiling == Profiling::kNarrow) {  // its auxiliary vector is 32-bit as well: no image of it
    joined->reason = CaptureReason::kNarrow;
    joined->detail = exe.binary->why;
    return joined;
  }
  ASSIGN_OR_RETURN(const auto image, read_process_image(process.key().pid, config_.proc_root));
  if (image.start_time_ticks != process.key().start_ticks) {
    return fail(ErrorCode::kNotFound, "pid " + std::to_string(image.pid) + " is another process by now");
  }
  if (image.exe != exe.identity) return GoProcessPtr();
  auto target = locate(process, image, *exe.binary);
  if (target.has_value()) {
    joined->target = std::move(*target);
  } else {
    joined->reason =
        exe.binary->profiling == Profiling::kLinkedOut ? CaptureReason::kLinkedOut : CaptureReason::kNotFound;
    joined->detail = std::move(target).error().message;
  }
  auto path = link_of_process(process.dir_fd(), ProcessFile::kExe);
  joined->exe = handles_.share(std::move(exe.fd), exe.identity, path.has_value() ? std::move(*path) : "");
  return joined;
}

// Stores it unless a newer entry is known. The watcher is called in the order in which entries changed.
GoProcessPtr GoRegistry::publish(GoProcessPtr process, std::optional<MonotonicTime> exec_time) {
  const std::lock_guard order(publish_mutex_);
  {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(process->key);
    if (it != entries_.end() && it->second.process->registered > process->registered) return it->second.process;
  }
  if (!store(process)) return process;
  if (!process->target) return process;
  if (watcher_.on_ready) watcher_.on_ready(*process);
  const std::lock_guard lock(mutex_);
  ++counters_.registrations;
  if (!process->exe) ++counters_.without_file;
  if (exec_time) note_delay(clock_.now() - *exec_time);
  return process;
}

bool GoRegistry::store(const GoProcessPtr& process) {
  std::optional<ProcessKey> gone;
  GoProcessPtr replaced;  // dropped without the lock
  std::string home = cgroups_of(process->key, config_.proc_root);
  {
    const std::lock_guard lock(mutex_);
    if (!entries_.contains(process->key) && !make_room_locked(home, gone)) {
      ++counters_.dropped;
      return false;
    }
    Entry& entry = entries_[process->key];
    replaced = std::exchange(entry.process, process);
    entry.home = std::move(home);
    entry.gone.reset();
  }
  if (gone && watcher_.on_gone) watcher_.on_gone(*gone);
  return true;
}

bool GoRegistry::make_room_locked(const std::string& home, std::optional<ProcessKey>& made) {
  std::vector<RegistryPlace> places;
  std::vector<ProcessKey> keys;
  for (const auto& [key, entry] : entries_) {
    places.push_back({entry.home, entry.process->registered, entry.gone});
    keys.push_back(key);
  }
  const RegistryRoom room = room_for(home, places, config_.max_processes);
  if (!room.over.empty()) {
    constexpr std::size_t kShown = 128;  // the end says more than the beginning
    over_share_.note(
        {"cgroup " + printable(room.over.substr(room.over.size() - std::min(room.over.size(), kShown))), ""});
  }
  if (room.kind == RegistryRoom::Kind::kMade) {
    made = keys[room.made];
    entries_.erase(*made);
  }
  return room.kind != RegistryRoom::Kind::kNone;
}

ShareExcess GoRegistry::over_share() const {
  const std::lock_guard lock(mutex_);
  return over_share_;
}

void GoRegistry::note_delay(Nanoseconds delay) {
  const auto& bounds = GoRegistryCounters::kDelayBounds;
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), delay) - bounds.begin();
  ++counters_.delays[static_cast<std::size_t>(bucket)];
  counters_.delay_sum += delay;
  counters_.delay_max = std::max(counters_.delay_max, delay);
}

GoProcessPtr GoRegistry::find(ProcessKey process) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(process);
  return it == entries_.end() ? nullptr : it->second.process;
}

std::vector<RuntimeProcessPtr> GoRegistry::readable() const {
  std::vector<RuntimeProcessPtr> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (!entry.gone && entry.process->target) found.push_back(entry.process);
  }
  return found;
}

void GoRegistry::forget(ProcessKey process) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(process);
  if (it != entries_.end() && !it->second.gone) it->second.gone = now;
}

void GoRegistry::drop(ProcessKey process) {
  const std::lock_guard order(publish_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (entries_.erase(process) == 0) return;
  }
  if (watcher_.on_gone) watcher_.on_gone(process);
}

void GoRegistry::tick(MonotonicTime now) {
  forget_some_dead();
  for (const ProcessKey process : over_grace(now)) drop(process);
  handles_.close_unused();
}

std::vector<ProcessKey> GoRegistry::over_grace(MonotonicTime now) const {
  std::vector<ProcessKey> keys;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (entry.gone && now - *entry.gone >= config_.grace) keys.push_back(key);
  }
  return keys;
}

void GoRegistry::forget_some_dead() {
  std::vector<ProcessKey> keys;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.upper_bound(swept_); it != entries_.end() && keys.size() < kLivenessChecksPerTick; ++it) {
      keys.push_back(it->first);
    }
    swept_ = keys.size() < kLivenessChecksPerTick ? ProcessKey{} : keys.back();
  }
  for (const ProcessKey key : keys) {
    if (!TargetProcess::open(config_.proc_root, key).has_value()) forget(key);
  }
}

// One that has exited is not to be registered again: its pid may be another's, whose place the kernel would give away.
bool GoRegistry::is_running(const GoProcess& process) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(process.key);
  return it != entries_.end() && it->second.process.get() == &process && !it->second.gone;
}

void GoRegistry::set_layout(const GoProcess& process, go::RecordLayout layout) {
  const std::uint32_t words = record_words_of(layout);
  if (words == 0 || process.record_words.exchange(words) == words) return;
  const std::lock_guard order(publish_mutex_);
  if (is_running(process) && watcher_.on_ready) watcher_.on_ready(process);
}

void GoRegistry::set_goroutines(ProcessKey key, GoroutineList list) {
  const std::lock_guard order(publish_mutex_);
  const GoProcessPtr process = find(key);
  if (process == nullptr) return;
  const auto known = process->goroutines.load();
  if (known && *known == list) return;
  process->goroutines = std::make_shared<const GoroutineList>(std::move(list));
  if (process->target && is_running(*process) && watcher_.on_ready) watcher_.on_ready(*process);
}

// Then checks that the process still runs the program that was resolved.
tl::expected<go::HeapEvidence, reader::Failure> GoRegistry::read_heap(const GoProcess& known, MonotonicTime deadline) {
  const auto failed = [](Error error) {
    return tl::make_unexpected(reader::Failure{reader::Fault::kNone, std::move(error)});
  };
  const go::HeapTarget& target = *known.target;
  const auto process = TargetProcess::open(target.image.proc_root, known.key);
  if (!process) return failed(process.error());
  const auto memory = OpenMemory::open(*process);
  if (!memory) return failed(memory.error());
  tl::expected<go::HeapEvidence, reader::Failure> evidence;
  if (config_.inspector == nullptr) {
    auto here = go::read_evidence(*memory, target, clock_, deadline);
    evidence = here ? decltype(evidence)(std::move(*here)) : failed(std::move(here).error());
  } else {
    const std::string owner = owner_of(known.key);
    evidence = config_.inspector->read_heap(*memory, target, deadline, std::span(&owner, 1));
  }
  const auto now = read_process_image(target.image.pid, target.image.proc_root);
  if (!now.has_value() || *now != target.image) {
    return failed({ErrorCode::kNotFound, "the process ended or runs another program by now"});
  }
  return evidence;
}

HeapRead GoRegistry::read(ProcessKey key, MonotonicTime deadline) {
  HeapRead read;
  const auto failed = [&](CaptureReason reason, const std::string& detail) {
    read.failure = {reason, printable(detail), key};
    return std::move(read);
  };
  auto process = add(key);
  for (int attempt = 0;; ++attempt) {
    if (!process.has_value()) return failed(reason_of(process.error()), process.error().message);
    const GoProcessPtr found = *process;
    read.process = found;
    if (!found->target) return failed(found->reason, found->detail);
    const MonotonicTime begun = clock_.now();
    auto evidence = read_heap(*found, deadline);
    const MonotonicTime taken = clock_.now();
    const bool is_unanswered = !evidence && evidence.error().fault != reader::Fault::kNone;
    read.cost_elsewhere += evidence ? evidence->cost : is_unanswered ? taken - begun : Nanoseconds{};
    if (evidence) {
      if (!evidence->reading) return failed(evidence->failure.reason, evidence->failure.detail);
      set_layout(*found, evidence->layout);
      read.reading = std::move(evidence->reading);
      read.reading->as_of = taken;
      read.reading->load_bias = found->target->load_bias;
      return read;
    }
    const auto& [fault, error] = evidence.error();
    const bool may_be_replaced = error.code == ErrorCode::kNotFound && attempt == 0;
    if (!may_be_replaced)
      return failed(fault == reader::Fault::kNone ? reason_of(error) : reason_of(fault), error.message);
    process = inspect_again(key);
  }
}

bool GoRegistry::is_still_at(ProcessKey key, std::uint32_t collection) const {
  const GoProcessPtr known = find(key);
  if (known == nullptr || !known->target) return false;
  const auto process = TargetProcess::open(known->target->image.proc_root, known->key);
  if (!process) return false;
  const auto memory = OpenMemory::open(*process);
  if (!memory) return false;
  const auto word = go::read_cycle(*memory, *known->target);
  return word.has_value() && *word && go::CycleState{**word, **word, 0}.cycle() == collection;
}

GoRegistryCounters GoRegistry::counters() const {
  const std::lock_guard lock(mutex_);
  GoRegistryCounters counters = counters_;
  for (const auto& [key, entry] : entries_) {
    const GoProcess& process = *entry.process;
    ++(process.target                                ? counters.available
       : process.reason == CaptureReason::kLinkedOut ? counters.linked_out
                                                     : counters.not_found);
  }
  counters.open_files = handles_.open_files();
  counters.files_read = binaries_.misses();
  return counters;
}

}  // namespace oomw
