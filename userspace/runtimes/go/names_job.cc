// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/names_job.h"

#include <vector>

#include "base/file_reader.h"
#include "base/files.h"
#include "base/text.h"
#include "memory/byte_source.h"
#include "memory/deadline_source.h"
#include "reader/wire.h"
#include "runtimes/go/symbolizer.h"

namespace oomw::go {
namespace {

struct AddressRecord {
  std::uint64_t pc = 0, ends_stack = 0;
};
struct NamesHeader {
  std::uint64_t texts = 0, frames = 0;
};
struct FrameRecord {
  std::uint32_t function = 0, file = 0;
  std::int32_t line = 0;
  std::uint32_t is_known = 0;
};

template <typename T>
void append_value(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Writes in pieces: the reader may have little memory left.
class PieceWriter {
 public:
  explicit PieceWriter(int fd) : fd_(fd) {}

  template <typename T>
  [[nodiscard]] Result<> add(const T& value) {
    append_value(bytes_, value);
    return bytes_.size() < kPiece ? Result<>() : finish();
  }
  [[nodiscard]] Result<> finish() {
    RETURN_IF_ERROR(write_all(fd_, bytes_));
    bytes_.clear();
    return {};
  }

 private:
  static constexpr std::size_t kPiece = 64u << 10;
  const int fd_;
  std::string bytes_;
};

Error invalid() { return {ErrorCode::kInvalid, "not names"}; }

Result<std::vector<WantedAddress>> read_wanted(int fd) {
  FileReader file(fd);
  std::uint64_t count = 0;
  if (!file.read_numbers(std::span(&count, 1)) || count > NamedFrames::kMaxAddresses) {
    return fail(ErrorCode::kInternal, "not addresses");
  }
  std::vector<WantedAddress> wanted;
  wanted.reserve(count);
  for (AddressRecord record; wanted.size() < count; wanted.push_back({record.pc, record.ends_stack != 0})) {
    if (!file.read_numbers(std::span(&record, 1))) return fail(ErrorCode::kInternal, "not an address");
  }
  return wanted;
}

bool read_texts(FileReader& file, std::uint64_t count, std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (std::uint32_t size = 0; texts.size() < count; bytes += size) {
    if (!file.read_numbers(std::span(&size, 1)) || bytes + size > TextPool::kMaxBytes) return false;
    std::string text(size, '\0');
    if (!file.read(std::as_writable_bytes(std::span(text)))) return false;
    texts.push_back(to_valid_utf8(text));
  }
  return true;
}

bool read_frame(FileReader& file, std::uint64_t pc, std::size_t texts, Frame& frame) {
  FrameRecord record;
  if (!file.read_numbers(std::span(&record, 1))) return false;
  frame = {pc, record.function, record.file, record.line, record.is_known == 1};
  return record.function < texts && record.file < texts && record.line >= 0 && record.is_known <= 1;
}

}  // namespace

std::string name_frames_parameters(MonotonicTime deadline) {
  return reader::WireWriter().number(static_cast<std::uint64_t>(deadline.ns)).take();
}

Result<> write_wanted(int fd, std::span<const WantedAddress> wanted) {
  PieceWriter out(fd);
  RETURN_IF_ERROR(out.add(std::uint64_t{wanted.size()}));
  for (const WantedAddress& address : wanted) {
    RETURN_IF_ERROR(out.add(AddressRecord{address.pc, address.ends_stack}));
  }
  return out.finish();
}

Result<> write_named(int fd, const NamedFrames& named) {
  PieceWriter out(fd);
  RETURN_IF_ERROR(out.add(NamesHeader{named.texts.size(), named.frames.size()}));
  for (const std::string& text : named.texts) {
    RETURN_IF_ERROR(out.add(static_cast<std::uint32_t>(text.size())));
    RETURN_IF_ERROR(out.finish());
    RETURN_IF_ERROR(write_all(fd, text));
  }
  for (const std::uint32_t count : named.counts) RETURN_IF_ERROR(out.add(count));
  for (const Frame& frame : named.frames) {
    RETURN_IF_ERROR(out.add(FrameRecord{frame.function, frame.file, frame.line, frame.is_known}));
  }
  return out.finish();
}

Result<NamedFrames> read_named(int fd, std::span<const WantedAddress> wanted) {
  FileReader file(fd);
  NamesHeader header;
  const bool is_bounded = file.read_numbers(std::span(&header, 1)) && header.texts <= TextPool::kMaxTexts &&
                          header.frames <= NamedFrames::kMaxFrames;
  NamedFrames named;
  if (!is_bounded || !read_texts(file, header.texts, named.texts)) return tl::make_unexpected(invalid());
  named.counts.resize(wanted.size());
  if (!file.read_numbers(std::span(named.counts))) return tl::make_unexpected(invalid());
  named.frames.reserve(header.frames);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::uint32_t count = named.counts[i];
    const bool fits = count > 0 && count <= NamedFrames::kMaxChain && count <= header.frames - named.frames.size();
    if (!fits) return tl::make_unexpected(invalid());
    for (std::uint32_t k = 0; k < count; ++k) {
      const bool is_one = read_frame(file, wanted[i].pc, named.texts.size(), named.frames.emplace_back());
      if (!is_one) return tl::make_unexpected(invalid());
    }
  }
  return named;
}

Result<std::string> name_frames_job(std::string_view parameters, std::span<const UniqueFd> files) {
  reader::WireReader in(parameters);
  const MonotonicTime deadline{in.signed_number()};
  if (!in.is_complete() || files.size() != 3) return fail(ErrorCode::kInternal, "not what naming needs");
  ASSIGN_OR_RETURN(const std::vector<WantedAddress> wanted, read_wanted(files[1].get()));
  const SystemClock clock;
  const FdSource file(files[2].get());
  ASSIGN_OR_RETURN(const NamedFrames named, name_frames(DeadlineSource(file, clock, deadline), wanted));
  RETURN_IF_ERROR(write_named(files[0].get(), named));
  return std::string();
}

}  // namespace oomw::go
