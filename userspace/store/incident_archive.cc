// SPDX-License-Identifier: Apache-2.0
#include "store/incident_archive.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "base/text.h"
#include "store/stored_files.h"

namespace oomw {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMaxTarName = 100;  // of a header's name field
constexpr std::size_t kChecksumAt = 148;

// Fields of a header, in their order. `type` '5' = directory, '0' = file.
std::string header_of(const std::string& name, char type, std::uint64_t bytes, std::int64_t modified_seconds) {
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(100, type == '5' ? "0000755" : "0000644");
  put(108, "0000000");  // user
  put(116, "0000000");  // group
  put(124, fmt::format("{:011o}", bytes));
  put(136, fmt::format("{:011o}", std::max<std::int64_t>(modified_seconds, 0)));
  put(kChecksumAt, "        ");  // counts as spaces
  header[156] = type;
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(kChecksumAt, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  return header;
}

Result<> write_bytes(const StoredFile& file, const ByteSink& sink) {
  std::array<char, 64 << 10> buffer{};
  for (std::uint64_t left = file.bytes; left > 0;) {
    const ssize_t got = ::read(file.fd.get(), buffer.data(), std::min<std::uint64_t>(buffer.size(), left));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "reading " + printable(file.name));
    if (got == 0) return fail(ErrorCode::kInvalid, printable(file.name) + " became shorter while it was read");
    RETURN_IF_ERROR(sink({buffer.data(), static_cast<std::size_t>(got)}));
    left -= static_cast<std::uint64_t>(got);
  }
  const std::size_t padding = (kBlock - file.bytes % kBlock) % kBlock;
  return padding == 0 ? Result<>{} : sink(std::string(padding, '\0'));
}

}  // namespace

Result<> write_incident_archive(const std::string& directory, const std::string& id, const ByteSink& sink) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, stored_file_names(directory));
  const std::string root = to_file_component(id) + "/";
  RETURN_IF_ERROR(sink(header_of(root, '5', 0, 0)));
  for (const std::string& name : names) {
    if (root.size() + name.size() > kMaxTarName) return fail(ErrorCode::kLimit, "a name too long for a tar");
    ASSIGN_OR_RETURN(const StoredFile file, open_stored_file(directory, name));
    RETURN_IF_ERROR(sink(header_of(root + name, '0', file.bytes, file.modified_ns / 1'000'000'000)));
    RETURN_IF_ERROR(write_bytes(file, sink));
  }
  return sink(std::string(2 * kBlock, '\0'));
}

}  // namespace oomw
