// SPDX-License-Identifier: Apache-2.0
#include "memory/process_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/victim_marks.h"

namespace oomw {
namespace {

// "7f00-7f01 r-xp 00001000 fd:01 1234    /usr/lib/libpython3.11.so.1.0"
struct MapLine {
  std::string_view range;  // as map_files names it
  std::uint64_t start = 0, offset = 0;
  std::string_view name;
};

std::optional<MapLine> map_line(std::string_view line) {
  MapLine map;
  const std::size_t slash = line.find('/');
  const std::size_t dash = line.find('-'), gap = line.find(' ');
  if (slash == std::string_view::npos || gap == std::string_view::npos || dash > gap) return std::nullopt;
  map.range = line.substr(0, gap);
  const std::size_t offset = line.find(' ', gap + 1);
  if (offset == std::string_view::npos || offset > slash) return std::nullopt;
  const auto start = parse_u64(map.range.substr(0, dash), 16);
  const auto at = parse_u64(line.substr(offset + 1, line.find(' ', offset + 1) - offset - 1), 16);
  if (!start || !at) return std::nullopt;
  map.start = *start;
  map.offset = *at;
  map.name = line.substr(line.rfind('/') + 1);
  return map;
}

bool is_wanted(std::string_view name, std::span<const std::string_view> wanted) {
  return std::ranges::any_of(wanted, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::vector<MappedFile> open_libraries(int directory, std::span<const std::string_view> wanted) {
  std::vector<MappedFile> libraries;
  if (wanted.empty()) return libraries;
  const auto maps = read_prefix_at(directory, "maps", ProcessFiles::kMaxMaps);
  if (!maps) return libraries;
  for (const std::string_view line : split(*maps, '\n')) {
    const auto map = map_line(line);
    if (!map || !is_wanted(map->name, wanted)) continue;
    const bool is_known = std::ranges::any_of(libraries, [&](const MappedFile& f) { return f.name == map->name; });
    if (is_known || libraries.size() == ProcessFiles::kMaxLibraries) continue;
    // The mapped file itself, whatever its path names by now.
    auto file = open_at(directory, "map_files/" + std::string(map->range), O_RDONLY);
    if (file) libraries.push_back({map->start, map->offset, std::string(map->name), std::move(*file)});
  }
  return libraries;
}

}  // namespace

Result<std::size_t> MemorySource::read_some(std::uint64_t address, std::span<std::byte> out) const {
  if (address > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - out.size()) return 0;
  const auto read = [this](std::uint64_t at, std::span<std::byte> piece) -> Result<std::size_t> {
    RETURN_IF_ERROR(may_hold_memory_of(pid_));
    ssize_t n = 0;
    do {
      n = ::pread(fd_, piece.data(), piece.size(), static_cast<off_t>(at));
    } while (n < 0 && errno == EINTR);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EIO || errno == EFAULT) return 0;
    return fail_errno(errno, "reading process memory");
  };
  return read_in_pieces(address, out, read);
}

Result<ProcessFiles> ProcessFiles::open(const std::string& proc_root, ProcessKey key,
                                        std::span<const std::string_view> wanted) {
  ASSIGN_OR_RETURN(const TargetProcess process, TargetProcess::open(proc_root, key));
  ProcessFiles files;
  ASSIGN_OR_RETURN(files.image, read_process_image(key.pid, proc_root));
  RETURN_IF_ERROR(may_hold_memory_of(key.pid));  // opening these holds it too
  ASSIGN_OR_RETURN(files.memory, open_at(process.dir_fd(), "mem", O_RDONLY));
  ASSIGN_OR_RETURN(files.page_map, open_at(process.dir_fd(), "pagemap", O_RDONLY));
  ASSIGN_OR_RETURN(files.maps, open_at(process.dir_fd(), "maps", O_RDONLY));
  ASSIGN_OR_RETURN(files.executable, open_at(process.dir_fd(), "exe", O_RDONLY));
  RETURN_IF_ERROR(may_hold_memory_of(key.pid));
  files.libraries = open_libraries(process.dir_fd(), wanted);
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
