// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "memory/byte_source.h"
#include "memory/present_pages.h"

namespace oomw::test {

inline UniqueFd open_of_process(int pid, const char* name) {
  return UniqueFd(::open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
}

// The memory of a process at one moment, as its readers may see it: its maps, and its private anonymous pages that were
// present. Files that it has mapped are not in it.
class MemoryImage final : public ByteSource {
 public:
  // Of a living process. One that writes meanwhile is torn.
  [[nodiscard]] static MemoryImage of(int pid, std::string output = "");
  // none: there is none, it is damaged, or a file that it maps is another one now.
  [[nodiscard]] static std::optional<MemoryImage> load(const std::string& path);
  // Beside it first, then by its name: two tests may write the same one.
  void save(const std::string& path) const;

  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;
  [[nodiscard]] const std::string& maps() const { return maps_; }
  [[nodiscard]] const std::string& output() const { return output_; }  // what the program printed until it was ready
  [[nodiscard]] PresentPages present() const { return PresentPages(ranges_); }

 private:
  [[nodiscard]] bool has_its_files() const;

  std::string maps_, output_;
  std::vector<PageRange> ranges_;            // in order
  std::vector<std::uint64_t> bytes_before_;  // of each range, in bytes_
  std::string bytes_;
};

// The image of a program that was started with `command` and has said that it is ready, once `is_settled` (100 ms
// between two tries, 50 of them; else as it is then, and not kept). It is taken from OOMW_CACHE/images if one is there
// for this text and this program's file, so that every preset and every run reads the same bytes. Null if the program
// does not start.
[[nodiscard]] std::shared_ptr<const MemoryImage> image_of_program(
    const std::vector<std::string>& command, const std::string& library_path = "",
    const std::function<bool(const MemoryImage&)>& is_settled = nullptr);

}  // namespace oomw::test
