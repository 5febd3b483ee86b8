// SPDX-License-Identifier: Apache-2.0
#include "memory/address_space.h"

#include <algorithm>

namespace oomw {

AddressSpace::AddressSpace(const ByteSource& memory, MemoryMap map, PresentPages present, std::vector<FileImage> files,
                           std::uint64_t max_bytes)
    : memory_(memory),
      map_(std::move(map)),
      present_(std::move(present)),
      files_(std::move(files)),
      max_bytes_(max_bytes) {}

Result<std::size_t> AddressSpace::read_memory(std::uint64_t address, std::span<std::byte> out) const {
  if (bytes_read_ + out.size() > max_bytes_) return fail(ErrorCode::kLimit, "read limit of this inspection");
  bytes_read_ += out.size();
  return memory_.read_some(address, out);
}

Result<std::size_t> AddressSpace::read_file(std::uint64_t address, std::span<std::byte> out) const {
  const Mapping* mapping = map_.at(address);
  if (mapping == nullptr || mapping->is_shared || !mapping->has_file()) return 0;
  const auto file = std::ranges::find_if(files_, [&](const FileImage& candidate) {
    return candidate.device == mapping->device && candidate.inode == mapping->inode;
  });
  if (file == files_.end()) return 0;
  const std::uint64_t length = std::min<std::uint64_t>(out.size(), mapping->end - address);
  return file->bytes->read_some(mapping->file_offset + (address - mapping->begin), out.first(length));
}

Result<std::size_t> AddressSpace::read_some(std::uint64_t address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = address + done, end = address + out.size();
    if (at < address) break;
    const auto ranges = present_.ranges_in(at, end);
    const bool is_present = !ranges.empty() && ranges.front().begin <= at;
    const std::uint64_t until =
        ranges.empty() ? end : std::min(is_present ? ranges.front().end : ranges.front().begin, end);
    const std::span<std::byte> part = out.subspan(done, until - at);
    ASSIGN_OR_RETURN(const std::size_t n, is_present ? read_memory(at, part) : read_file(at, part));
    done += n;
    if (n < part.size()) break;
  }
  return done;
}

Result<std::size_t> AddressSpace::read_present(std::uint64_t address, std::span<std::byte> out) const {
  const std::uint64_t end = address + out.size();
  std::size_t done = 0, filled = 0;
  const auto fill_until = [&](std::uint64_t place) {
    std::ranges::fill(out.subspan(filled, place - address - filled), std::byte{0});
    filled = place - address;
  };
  if (end < address) {
    std::ranges::fill(out, std::byte{0});
    return 0;
  }
  for (const PageRange& range : present_.ranges_in(address, end)) {
    const std::uint64_t from = std::max(range.begin, address), to = std::min(range.end, end);
    fill_until(from);
    ASSIGN_OR_RETURN(const std::size_t n, read_memory(from, out.subspan(filled, to - from)));
    filled += n;
    fill_until(to);
    done += n;
  }
  fill_until(end);
  return done;
}

}  // namespace oomw
