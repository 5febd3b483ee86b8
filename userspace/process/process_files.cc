// SPDX-License-Identifier: Apache-2.0
#include "process/process_files.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/victim_marks.h"

namespace oomw {
namespace {

// "7f00-7f01 r-xp 00001000 fd:01 1234    /usr/lib/libpython3.11.so.1.0"
struct MapLine {
  std::uint64_t start = 0, end = 0, offset = 0;
  std::string_view name;
};

std::optional<MapLine> map_line(std::string_view line) {
  MapLine map;
  const std::size_t slash = line.find('/');
  const std::size_t dash = line.find('-'), gap = line.find(' ');
  if (slash == std::string_view::npos || gap == std::string_view::npos || dash > gap) return std::nullopt;
  const std::size_t offset = line.find(' ', gap + 1);
  if (offset == std::string_view::npos || offset > slash) return std::nullopt;
  const auto start = parse_u64(line.substr(0, dash), 16), end = parse_u64(line.substr(dash + 1, gap - dash - 1), 16);
  const auto at = parse_u64(line.substr(offset + 1, line.find(' ', offset + 1) - offset - 1), 16);
  if (!start || !end || !at) return std::nullopt;
  map.start = *start;
  map.end = *end;
  map.offset = *at;
  map.name = line.substr(line.rfind('/') + 1);
  return map;
}

bool is_wanted(std::string_view name, std::span<const std::string_view> wanted) {
  return std::ranges::any_of(wanted, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::vector<MappedFile> open_libraries(int directory, int pid, std::span<const std::string_view> wanted) {
  std::vector<MappedFile> libraries;
  if (wanted.empty()) return libraries;
  const auto maps = read_process_file(directory, pid, ProcessFile::kMaps, ProcessFiles::kMaxMaps);
  if (!maps) return libraries;
  for (const std::string_view line : split(*maps, '\n')) {
    const auto map = map_line(line);
    if (!map || !is_wanted(map->name, wanted)) continue;
    const bool is_known = std::ranges::any_of(libraries, [&](const MappedFile& f) { return f.name == map->name; });
    if (is_known || libraries.size() == ProcessFiles::kMaxLibraries) continue;
    auto file = open_mapped_file(directory, map->start, map->end);
    if (file) libraries.push_back({map->start, map->offset, std::string(map->name), std::move(*file)});
  }
  return libraries;
}

}  // namespace

Result<ProcessFiles> ProcessFiles::open(const std::string& proc_root, ProcessKey key,
                                        std::span<const std::string_view> wanted) {
  ASSIGN_OR_RETURN(const TargetProcess process, TargetProcess::open(proc_root, key));
  ProcessFiles files;
  ASSIGN_OR_RETURN(files.image, read_process_image(key.pid, proc_root));
  RETURN_IF_ERROR(may_hold_memory_of(key.pid));  // opening these holds it too
  ASSIGN_OR_RETURN(files.memory, open_process_file(process.dir_fd(), ProcessFile::kMem));
  ASSIGN_OR_RETURN(files.page_map, open_process_file(process.dir_fd(), ProcessFile::kPagemap));
  ASSIGN_OR_RETURN(files.maps, open_process_file(process.dir_fd(), ProcessFile::kMaps));
  ASSIGN_OR_RETURN(files.executable, open_process_file(process.dir_fd(), ProcessFile::kExe));
  files.libraries = open_libraries(process.dir_fd(), key.pid, wanted);
  RETURN_IF_ERROR(may_hold_memory_of(key.pid));
  ASSIGN_OR_RETURN(const FileIdentity opened, identify_file(files.executable.get()));
  const bool is_same = files.image.start_time_ticks == process.key().start_ticks && opened == files.image.exe;
  if (!is_same || !files.is_still_there()) return fail(ErrorCode::kNotFound, "the process runs another program by now");
  return files;
}

bool ProcessFiles::is_still_there() const {
  const auto now = read_process_image(image.pid, image.proc_root);
  if (!now || *now != image) return false;
  return TargetProcess::open(image.proc_root, {image.pid, image.start_time_ticks}).has_value();
}

}  // namespace oomw
