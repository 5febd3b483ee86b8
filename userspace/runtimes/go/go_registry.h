// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fair_share.h"
#include "base/result.h"
#include "memory/inspections_under_way.h"
#include "process/target_process.h"
#include "runtimes/go/binary_cache.h"
#include "runtimes/go/go_process.h"
#include "runtimes/go/program_inspector.h"
#include "runtimes/runtime.h"

namespace oomw {

struct GoRegistryConfig {
  std::string proc_root = "/proc";
  std::size_t max_processes = 4096;
  std::size_t max_binaries = 1024;                           // inspected and remembered, those not Go included
  std::size_t max_open_files = 256;                          // distinct executables of living Go processes
  Nanoseconds grace = std::chrono::seconds(10);              // a dead process stays findable: its walk is still to come
  Nanoseconds retry_after = std::chrono::milliseconds(200);  // for a list head that was not found
  go::ProgramInspector* inspector = nullptr;  // outlives the registry; null: this process parses the files itself
  // Whose a process is, from the text of its /proc/PID/cgroup; null: the text itself.
  std::function<std::string(std::string_view cgroups)> owner_of_cgroups = {};
};

struct GoRegistryCounters {
  std::uint64_t available = 0, linked_out = 0;  // known now, by state
  std::uint64_t not_found = 0;                  // 32-bit programs included
  std::uint64_t open_files = 0;
  std::uint64_t registrations = 0;  // handed to on_ready for the first time
  std::uint64_t dropped = 0;        // Go processes for which there was no room
  std::uint64_t without_file = 0;   // registered, but their executable could not be held open
  std::uint64_t files_read = 0;     // executables that were not known yet
  // From exec until on_ready has returned. Bucket i counts delays <= kDelayBounds[i], the last one the rest.
  static constexpr std::array<Nanoseconds, 7> kDelayBounds = {
      std::chrono::milliseconds(1),  std::chrono::milliseconds(5),   std::chrono::milliseconds(10),
      std::chrono::milliseconds(50), std::chrono::milliseconds(100), std::chrono::milliseconds(500),
      std::chrono::seconds(2)};
  std::array<std::uint64_t, kDelayBounds.size() + 1> delays{};
  Nanoseconds delay_sum{0}, delay_max{0};
};

// Which processes run Go programs, and where each keeps its heap profile.
//
// - A process that is not Go costs one open and one fstat if its file is known, and one inspection of the ELF header
//   and section names if not; only the file's entry in the cache is kept.
// - A list head that is not known from the file is searched for in the living process, again on every add() (at most
//   every `retry_after`) until it is found: the list may still be empty.
// - exec in the same pid replaces the entry; a reused pid is another process.
// - Bounded: max_processes (those that are gone make room first), max_binaries, max_open_files. No cgroup takes all
//   of them, see registry_room.h.
// - A file system that hangs (FUSE) blocks the worker that called add() or tick(); no lock is held meanwhile. Its
//   executable blocks no second worker: add() is kTimeout for it until the first returns.
// Thread-safe. add(), inspect_again() and tick() are for worker threads, the rest for any.
class GoRegistry final : public Runtime {
 public:
  struct Watcher {
    // The target, its record_words or its goroutines became known: to be registered with the kernel. Never called for
    // linked-out programs. One call at a time.
    std::function<void(const GoProcess&)> on_ready;
    // The process is no longer known, whatever the reason.
    std::function<void(ProcessKey)> on_gone;
  };

  GoRegistry(const Clock& clock, GoRegistryConfig config, Watcher watcher);

  // Reads /proc/PID unless the process is known and `exec_time` is not later than its inspection. start_ticks 0 accepts
  // any process with the pid. Errors: kUnsupported (not Go, kernel thread), kNotFound (gone, or the pid is another's),
  // kPermission, kTimeout. A Go process without a heap profile is no error: see GoProcess::reason.
  [[nodiscard]] Result<GoProcessPtr> add(ProcessKey process, std::optional<MonotonicTime> exec_time = std::nullopt);
  // The same, whatever is known: the process turned out to run another program.
  [[nodiscard]] Result<GoProcessPtr> inspect_again(ProcessKey process);

  // Null if not known, also for processes that are not Go.
  [[nodiscard]] GoProcessPtr find(ProcessKey process) const;

  void prepare(ProcessKey process) override { (void)add(process); }  // read() reports why not
  [[nodiscard]] RuntimeProcessPtr process(ProcessKey process) const override { return find(process); }
  [[nodiscard]] std::vector<RuntimeProcessPtr> readable() const override;
  // A process that turns out to run another program is inspected once more.
  [[nodiscard]] HeapRead read(ProcessKey process, MonotonicTime deadline) override;
  [[nodiscard]] bool is_still_at(ProcessKey process, std::uint32_t collection) const override;
  // The process stays findable for the grace, then tick() drops it.
  void forget(ProcessKey process) override;
  // Every few seconds: drops what is over its grace, closes files, and checks for a few entries whether their process
  // still lives (an exit event may have been lost).
  void tick(MonotonicTime now);

  // A read proved how this process lays out its records: on_ready is called once.
  void set_layout(const GoProcess& process, go::RecordLayout layout);
  // The same for its goroutines. Any thread.
  void set_goroutines(ProcessKey process, GoroutineList list);

  [[nodiscard]] GoRegistryCounters counters() const;
  [[nodiscard]] ShareExcess over_share() const;  // processes that a cgroup over its share could not add, or lost

 private:
  struct Entry {
    GoProcessPtr process;
    std::string home;  // its cgroups, as the kernel names them
    std::optional<MonotonicTime> gone;
  };
  struct Executable {
    UniqueFd fd;
    FileIdentity identity;
    std::shared_ptr<const go::GoBinary> binary;
  };

  [[nodiscard]] bool is_running(const GoProcess& process) const;
  [[nodiscard]] bool is_settled(const GoProcess& known, std::optional<MonotonicTime> exec_time) const;
  [[nodiscard]] Result<GoProcessPtr> measure(ProcessKey process, std::optional<MonotonicTime> exec_time);
  [[nodiscard]] Result<Executable> open_executable(const TargetProcess& process);
  [[nodiscard]] Result<std::shared_ptr<const go::GoBinary>> binary_of(const Executable& exe, ProcessKey process);
  [[nodiscard]] std::string owner_of(ProcessKey process) const;
  [[nodiscard]] std::vector<std::string> owners_of(const Executable& exe, ProcessKey process) const;
  [[nodiscard]] Result<go::HeapTarget> locate(const TargetProcess& process, const ProcessImage& image,
                                              const go::GoBinary& binary) const;
  [[nodiscard]] tl::expected<go::HeapEvidence, reader::Failure> read_heap(const GoProcess& known,
                                                                          MonotonicTime deadline);
  [[nodiscard]] Result<GoProcessPtr> join(const TargetProcess& process, Executable exe, MonotonicTime started);
  [[nodiscard]] GoProcessPtr publish(GoProcessPtr process, std::optional<MonotonicTime> exec_time);
  [[nodiscard]] bool store(const GoProcessPtr& process);
  // False: no room. made: the process that was dropped for it, if any.
  [[nodiscard]] bool make_room_locked(const std::string& home, std::optional<ProcessKey>& made);
  [[nodiscard]] std::vector<ProcessKey> over_grace(MonotonicTime now) const;
  void drop(ProcessKey process);
  void forget_some_dead();
  void note_delay(Nanoseconds delay);

  const Clock& clock_;
  const GoRegistryConfig config_;
  const Watcher watcher_;
  ExeHandles handles_;
  InspectionsUnderWay inspections_;

  std::mutex publish_mutex_;  // orders the watcher's calls as the entries changed; taken before mutex_
  mutable std::mutex mutex_;
  std::map<ProcessKey, Entry> entries_;
  go::BinaryCache binaries_;
  GoRegistryCounters counters_;
  ShareExcess over_share_;
  ProcessKey swept_;  // where forget_some_dead() continues
};

}  // namespace oomw
