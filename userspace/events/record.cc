// SPDX-License-Identifier: Apache-2.0
// Recordings as files; record_json.cc has the format of their lines.
#include "events/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"

namespace oomw {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kBufferBytes = 16u << 10;
// The longest line we write is a container with its labels, some KiB; the rest is room for hand-made
// recordings. A file with a longer line is not a recording.
constexpr std::size_t kMaxLineBytes = 1u << 20;

std::string header_line(std::int64_t wall_minus_monotonic_ns) {
  nlohmann::ordered_json header;
  header["type"] = "recording";
  header["version"] = kVersion;
  header["wall_minus_monotonic_ns"] = wall_minus_monotonic_ns;
  return to_json_text(header) + "\n";
}

Result<std::int64_t> read_recording_header(std::string_view line) {
  const auto header = parse_json(line);
  const bool is_header = header.is_object() && header.contains("type") && header["type"] == "recording" &&
                         header.contains("version") && header.contains("wall_minus_monotonic_ns");
  if (!is_header) return fail(ErrorCode::kInvalid, "not a recording: line 1 is no header");
  if (header["version"] != kVersion) {
    return fail(ErrorCode::kUnsupported, "recording of another version than " + std::to_string(kVersion));
  }
  const auto& offset = header["wall_minus_monotonic_ns"];
  const bool fits = offset.is_number_integer() &&
                    (!offset.is_number_unsigned() || std::in_range<std::int64_t>(offset.get<std::uint64_t>()));
  if (!fits) return fail(ErrorCode::kInvalid, "wall_minus_monotonic_ns is no 64-bit integer");
  return offset.get<std::int64_t>();
}

// Evidence goes to disk at once; other events may wait for a full buffer.
bool is_worth_a_flush(const Event& event) {
  return std::holds_alternative<OomKill>(event) || std::holds_alternative<CaptureFinished>(event) ||
         std::holds_alternative<HeapWalked>(event);
}

// Lines of a file, bounded in length. Memory: one line and one buffer.
class LineReader {
 public:
  struct Line {
    std::string text;
    bool terminated = true;  // false: the file ends without a newline
  };

  explicit LineReader(UniqueFd fd) : fd_(std::move(fd)) {}

  // After an error there is nothing more: a caller that continues reaches the end.
  Result<std::optional<Line>> next() {
    if (failed_) return std::nullopt;
    auto line = read_line();
    failed_ = !line.has_value();
    return line;
  }

 private:
  Result<std::optional<Line>> read_line() {
    Line line;
    while (true) {
      const std::size_t end = buffer_.find('\n', position_);
      const std::size_t length = (end == std::string::npos ? buffer_.size() : end) - position_;
      if (line.text.size() + length > kMaxLineBytes) return fail(ErrorCode::kLimit, "line is too long");
      line.text.append(buffer_, position_, length);
      position_ += length;
      if (end != std::string::npos) {
        ++position_;
        return line;
      }
      ASSIGN_OR_RETURN(const bool more, refill());
      if (more) continue;
      if (line.text.empty()) return std::nullopt;
      line.terminated = false;
      return line;
    }
  }

  Result<bool> refill() {
    buffer_.resize(kBufferBytes);
    position_ = 0;
    ssize_t n = 0;
    do {
      n = ::read(fd_.get(), buffer_.data(), buffer_.size());
    } while (n < 0 && errno == EINTR);
    buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    if (n < 0) return fail_errno(errno, "read");
    return n > 0;
  }

  UniqueFd fd_;
  std::string buffer_;
  std::size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace

struct Recorder::Impl {
  UniqueFd fd;
  std::uint64_t bytes_left = 0;
  std::string buffer;
  std::uint64_t buffered_events = 0;
  std::uint64_t dropped = 0;

  // A failed write may have left half a line, so nothing may follow it: recording ends there.
  void flush() {
    if (!write_all(fd.get(), buffer).has_value()) {
      dropped += buffered_events;
      bytes_left = 0;
    }
    buffer.clear();
    buffered_events = 0;
  }
};

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::~Recorder() { impl_->flush(); }

Result<std::unique_ptr<Recorder>> Recorder::make(const std::string& path, std::uint64_t max_bytes,
                                                 std::int64_t wall_minus_monotonic_ns) {
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->fd, open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  const std::string header = header_line(wall_minus_monotonic_ns);
  RETURN_IF_ERROR(write_all(impl->fd.get(), header));
  impl->bytes_left = max_bytes > header.size() ? max_bytes - header.size() : 0;
  return std::unique_ptr<Recorder>(new Recorder(std::move(impl)));
}

void Recorder::write(const Event& event) {
  const std::string line = to_json_line(event) + "\n";
  if (line.size() > impl_->bytes_left) {
    impl_->bytes_left = 0;  // a smaller event later would leave an invisible gap
    ++impl_->dropped;
    return;
  }
  impl_->bytes_left -= line.size();
  impl_->buffer += line;
  ++impl_->buffered_events;
  if (impl_->buffer.size() >= kBufferBytes || is_worth_a_flush(event)) impl_->flush();
}

std::uint64_t Recorder::dropped() const { return impl_->dropped; }

struct Recording::Impl {
  explicit Impl(UniqueFd fd) : lines(std::move(fd)) {}
  LineReader lines;
  std::uint64_t line_number = 1;  // of the last line read; the header is 1
  std::int64_t wall_minus_monotonic_ns = 0;

  [[nodiscard]] std::string here() const { return "line " + std::to_string(line_number); }
};

Recording::Recording(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recording::~Recording() = default;

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, path, O_RDONLY));
  auto impl = std::make_unique<Impl>(std::move(fd));
  auto header = impl->lines.next();
  if (!header.has_value()) return tl::make_unexpected(std::move(header).error().with_context(path));
  if (!header->has_value()) return fail(ErrorCode::kInvalid, path + ": empty file");
  auto offset = read_recording_header((*header)->text);
  if (!offset.has_value()) return tl::make_unexpected(std::move(offset).error().with_context(path));
  impl->wall_minus_monotonic_ns = *offset;
  return std::unique_ptr<Recording>(new Recording(std::move(impl)));
}

std::int64_t Recording::wall_minus_monotonic_ns() const { return impl_->wall_minus_monotonic_ns; }

Result<std::optional<Event>> Recording::next() {
  while (true) {
    ++impl_->line_number;
    auto line = impl_->lines.next();
    if (!line.has_value()) return tl::make_unexpected(std::move(line).error().with_context(impl_->here()));
    if (!line->has_value()) return std::nullopt;
    const auto& [text, terminated] = **line;
    if (text.empty()) continue;
    auto event = event_from_json_line(text);
    if (event.has_value()) return std::move(*event);
    if (!terminated) return std::nullopt;  // the writer died in the middle of it
    return tl::make_unexpected(std::move(event).error().with_context(impl_->here()));
  }
}

}  // namespace oomw
