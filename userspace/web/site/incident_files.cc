// SPDX-License-Identifier: Apache-2.0
#include "web/site/incident_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "incident/incident_files.h"

namespace oomw {
namespace {

constexpr std::size_t kPiece = 64u << 10;
constexpr std::size_t kBlock = 512;  // of tar
constexpr std::size_t kMaxFiles = 1'000;

// At most a piece, and not beyond what the file had when it was opened. "" = that is reached.
Result<std::string> read_piece(PlainFile& file) {
  std::string piece(std::min<std::uint64_t>(kPiece, file.bytes), '\0');
  if (piece.empty()) return piece;
  const ssize_t n = ::read(file.fd.get(), piece.data(), piece.size());
  if (n < 0) return fail_errno(errno, "read");
  if (n == 0) return fail(ErrorCode::kInvalid, "it became shorter");
  piece.resize(static_cast<std::size_t>(n));
  file.bytes -= piece.size();
  return piece;
}

class FileStream final : public BodySource {
 public:
  explicit FileStream(PlainFile file) : file_(std::move(file)) {}
  Result<std::string> next() override { return read_piece(file_); }

 private:
  PlainFile file_;
};

// ustar, which every tar reads.
std::string tar_header(const std::string& name, std::uint64_t bytes) {
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name.substr(0, 99));
  put(100, "0000600");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", bytes));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  return header;
}

class Archive final : public BodySource {
 public:
  Archive(std::string directory, std::string folder, std::vector<ListedFile> files)
      : directory_(std::move(directory)), folder_(std::move(folder)), files_(std::move(files)) {
    constexpr int kGzipWindow = 15 + 16, kMemory = 8, kLevel = 1;  // most of the bytes are packed already
    is_good_ = ::deflateInit2(&zip_, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Archive() override {
    if (is_good_) ::deflateEnd(&zip_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  Result<std::string> next() override {
    if (!is_good_) return fail(ErrorCode::kLimit, "no memory to pack it");
    std::string out;
    while (out.empty() && !is_done_) {
      ASSIGN_OR_RETURN(const std::string plain, next_plain());
      is_done_ = plain.empty();
      pack(plain, out);
    }
    return out;
  }

 private:
  // The archive before it is packed; "" = its end was given.
  Result<std::string> next_plain() {
    if (current_.fd.is_valid()) {
      ASSIGN_OR_RETURN(std::string piece, read_piece(current_));
      if (current_.bytes == 0) {
        piece.append(padding_, '\0');
        current_.fd.reset();
      }
      return piece;
    }
    if (at_ < files_.size()) return begin_file(files_[at_++].name);
    if (std::exchange(has_end_, true)) return std::string();
    return std::string(2 * kBlock, '\0');
  }

  Result<std::string> begin_file(const std::string& name) {
    ASSIGN_OR_RETURN(current_, open_plain_file(directory_, name));
    padding_ = (kBlock - current_.bytes % kBlock) % kBlock;
    std::string header = tar_header(folder_ + "/" + name, current_.bytes);
    if (current_.bytes == 0) current_.fd.reset();
    return header;
  }

  void pack(const std::string& plain, std::string& out) {
    std::array<char, 16 << 10> room;
    zip_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    zip_.avail_in = static_cast<uInt>(plain.size());
    do {
      zip_.next_out = reinterpret_cast<Bytef*>(room.data());
      zip_.avail_out = room.size();
      (void)::deflate(&zip_, is_done_ ? Z_FINISH : Z_NO_FLUSH);
      out.append(room.data(), room.size() - zip_.avail_out);
    } while (zip_.avail_out == 0);
  }

  const std::string directory_, folder_;
  const std::vector<ListedFile> files_;
  std::size_t at_ = 0, padding_ = 0;
  PlainFile current_;
  bool has_end_ = false, is_done_ = false, is_good_ = false;
  z_stream zip_{};
};

}  // namespace

Result<PlainFile> open_plain_file(const std::string& directory, const std::string& name) {
  if (name.empty() || !is_plain_file_name(name)) return fail(ErrorCode::kNotFound, "no such file");
  ASSIGN_OR_RETURN(const UniqueFd parent, open_at(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(parent.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "fstat");
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalid, "not a plain file");
  return PlainFile{std::move(fd), static_cast<std::uint64_t>(status.st_size)};
}

Result<std::vector<ListedFile>> plain_files_of(const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, list_directory(directory, kMaxFiles));
  std::ranges::sort(names);
  std::vector<ListedFile> files;
  for (const std::string& name : names) {
    struct stat status {};
    const bool is_plain =
        is_plain_file_name(name) && ::lstat((directory + "/" + name).c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_plain) files.push_back({name, static_cast<std::uint64_t>(status.st_size)});
  }
  return files;
}

DrawnProfiles drawn_profiles(const std::string& directory, const Incident& incident) {
  const auto beside = [&](std::string name) { return open_plain_file(directory, name) ? std::move(name) : ""; };
  DrawnProfiles drawn{beside(best_profile_file(incident)), "", beside(incident.growth ? incident.growth->file : "")};
  drawn.before = beside(earlier_profile_file(incident, drawn.best));
  return drawn;
}

bool are_comparable(const DrawnProfiles& a, const DrawnProfiles& b) {
  const auto kind = [](const std::string& name) { return name.substr(0, name.find_first_of("-.")); };
  return !a.best.empty() && kind(a.best) == kind(b.best);
}

std::shared_ptr<BodySource> stream_of(PlainFile file) { return std::make_shared<FileStream>(std::move(file)); }

Result<std::shared_ptr<BodySource>> archive_of(const std::string& directory, const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<ListedFile> files, plain_files_of(directory));
  std::uint64_t bytes = 0;
  for (const ListedFile& file : files) bytes += file.bytes;
  if (bytes > kMaxArchiveBytes) return fail(ErrorCode::kLimit, "more than 1 GiB: copy the directory");
  return std::make_shared<Archive>(directory, folder, std::move(files));
}

}  // namespace oomw
