// SPDX-License-Identifier: Apache-2.0
// Reading small kernel files and writing files that are whole or absent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// Path of `name` below directory fd `dir_fd` (AT_FDCWD: the working directory). O_CLOEXEC and
// O_NOCTTY are always added.
[[nodiscard]] Result<UniqueFd> open_at(int dir_fd, const std::string& name, int flags, unsigned mode = 0);
[[nodiscard]] Result<UniqueFd> open_directory(const std::string& path);

// The whole file, at most max_bytes (kLimit if longer). Works on /proc and cgroupfs, where
// st_size is 0.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max_bytes);
[[nodiscard]] Result<std::string> read_file_at(int dir_fd, const std::string& name, std::size_t max_bytes);
// The file's first max_bytes; a longer file is not an error.
[[nodiscard]] Result<std::string> read_prefix_at(int dir_fd, const std::string& name, std::size_t max_bytes);
[[nodiscard]] Result<std::string> read_link_at(int dir_fd, const std::string& name);

// The rest of an open file, at most max_bytes of it; `name` is for the error message.
[[nodiscard]] Result<std::string> read_open_file(int fd, const std::string& name, std::size_t max_bytes);

// The present start of a kernel file that is kept open: one pread, no allocation. nullopt: empty, or gone.
[[nodiscard]] std::optional<std::string_view> read_again(int fd, std::span<char> buffer);

// Names of entries without "." and "..", at most max_entries (kLimit if there are more).
[[nodiscard]] Result<std::vector<std::string>> list_directory(const std::string& path, std::size_t max_entries);

[[nodiscard]] Result<> make_directories(const std::string& path, unsigned mode);
[[nodiscard]] Result<> write_all(int fd, std::string_view bytes);
[[nodiscard]] Result<> fsync_directory(const std::string& path);

// Writes path.tmp-PID-N beside `path`, fsyncs, renames, fsyncs the directory. Replaces only a regular file (else
// kInvalid): root could otherwise replace /dev/stdout with a file. On failure the old file is untouched and the
// temporary one is removed. Only if the last step fails is the new file already in place, and a power cut may still
// undo that.
[[nodiscard]] Result<> write_file_atomic(const std::string& path, std::string_view bytes, unsigned mode = 0600);

// Removes a directory that holds plain files only (our own incidents); never follows links.
[[nodiscard]] Result<> remove_flat_directory(const std::string& path);

}  // namespace oomw
