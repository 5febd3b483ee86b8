// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "events/ids.h"

struct bpf_object;

namespace oomw {

// A process as the programs and their maps know it.
[[nodiscard]] inline std::uint32_t tgid_of(ProcessKey process) { return static_cast<std::uint32_t>(process.pid); }

// Another descriptor of the same file; invalid with errno set on failure.
[[nodiscard]] UniqueFd copy_fd(int fd);

// The maps of bpf/core/maps.h, each shared by all objects: the first object to load creates them, later objects find
// them by name. Owns an fd of each.
class SharedMaps {
 public:
  // entries: map name -> max_entries, for those not fixed in maps.h.
  explicit SharedMaps(std::map<std::string, std::uint32_t> entries);

  // Before load: sizes the object's maps, or swaps in those that exist.
  [[nodiscard]] Result<> prepare(bpf_object& object) const;
  // After load: keeps the maps that the object created.
  [[nodiscard]] Result<> adopt(bpf_object& object);
  // -1 before any object was loaded.
  [[nodiscard]] int fd(const std::string& name) const;

 private:
  std::map<std::string, std::uint32_t> entries_;
  std::map<std::string, UniqueFd> fds_;
};

}  // namespace oomw
