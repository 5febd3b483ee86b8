// SPDX-License-Identifier: Apache-2.0
#include "system/level_registrar.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/files.h"
#include "system/memory_files.h"

namespace oomw {

LevelRegistrar::LevelRegistrar(EventLoop& loop, const CgroupFs& cgroups, std::size_t max_waiting)
    : loop_(loop), cgroups_(cgroups), workers_("oomw-levels", kWorkers, max_waiting) {}

LevelRegistrar::~LevelRegistrar() { *is_over_ = true; }

bool LevelRegistrar::post(CgroupId id, const std::string& path, std::vector<std::uint64_t> levels_bytes, Done done) {
  return workers_.post([this, id, path, levels = std::move(levels_bytes), done = std::move(done)] {
    if (*is_over_) return;
    answer([is_over = is_over_, done, announced = announce(id, path, levels)] {
      if (!*is_over) done(announced);
    });
  });
}

// Retries, because without an answer the cgroup would wait for ever. A core thread with a full queue gets time to
// catch up.
void LevelRegistrar::answer(const EventLoop::Task& task) const {
  while (!*is_over_ && !loop_.post(task)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Result<std::shared_ptr<LevelRegistrar::Announced>> LevelRegistrar::announce(
    CgroupId id, const std::string& path, const std::vector<std::uint64_t>& levels_bytes) const {
  ASSIGN_OR_RETURN(const UniqueFd dir, cgroups_.open(path, id));
  auto announced = std::make_shared<Announced>();
  ASSIGN_OR_RETURN(announced->usage, open_at(dir.get(), memory_file_names(CgroupVersion::kV1).usage, O_RDONLY));
  announced->event = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!announced->event.is_valid()) return fail_errno(errno, "eventfd");
  ASSIGN_OR_RETURN(const UniqueFd control, open_at(dir.get(), "cgroup.event_control", O_WRONLY));
  const std::string fds = std::to_string(announced->event.get()) + " " + std::to_string(announced->usage.get()) + " ";
  for (const std::uint64_t bytes : levels_bytes) {
    if (*is_over_) return fail(ErrorCode::kUnavailable, "stopping");
    RETURN_IF_ERROR(write_all(control.get(), fds + std::to_string(bytes)));
  }
  return announced;
}

}  // namespace oomw
