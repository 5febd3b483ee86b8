// SPDX-License-Identifier: Apache-2.0
#include "pprof/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "pprof/codec.h"

namespace oomw::pprof {
namespace {

constexpr int kGzipWindow = 15 + 16;  // 32 KiB window, gzip framing
constexpr std::size_t kFirstOutput = 16u << 10;
constexpr std::string_view kMagic = "\x1f\x8b";

// One z_stream, released on every path.
class Inflater {
 public:
  explicit Inflater(std::string_view bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    ok_ = inflateInit2(&stream_, kGzipWindow) == Z_OK;
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  [[nodiscard]] bool is_ok() const { return ok_; }
  [[nodiscard]] z_stream& stream() { return stream_; }
  [[nodiscard]] std::string_view rest() const {
    return {reinterpret_cast<const char*>(stream_.next_in), stream_.avail_in};
  }

 private:
  z_stream stream_{};
  bool ok_ = false;
};

// Room for more output; false when the cap is reached.
bool grow(std::string& out, std::size_t used, std::size_t max_bytes) {
  if (used < out.size()) return true;
  if (used >= max_bytes) return false;
  out.resize(std::min(max_bytes, std::max(kFirstOutput, used * 2)));
  return true;
}

// Whether a member that filled the cap exactly ends right here.
bool ends_now(z_stream& stream) {
  Bytef spare = 0;
  stream.next_out = &spare;
  stream.avail_out = 1;
  return inflate(&stream, Z_NO_FLUSH) == Z_STREAM_END && stream.avail_out == 1;
}

// Inflates one gzip member onto out[used..]; advances used.
Result<> inflate_member(z_stream& stream, std::string& out, std::size_t& used, std::size_t max_bytes) {
  for (;;) {
    if (!grow(out, used, max_bytes)) {
      if (ends_now(stream)) return {};
      return fail(ErrorCode::kLimit, "inflates to more than " + std::to_string(max_bytes) + " bytes");
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size() - used, 1u << 30));
    const uInt room = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (status == Z_STREAM_END) return {};
    if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      return fail(ErrorCode::kInvalid, "truncated gzip stream");
    }
    if (status != Z_OK) {
      return fail(ErrorCode::kInvalid, std::string("damaged gzip stream: ") + (stream.msg ? stream.msg : "no detail"));
    }
  }
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes) {
  if (!is_gzip(bytes)) return fail(ErrorCode::kInvalid, "not gzip");
  if (bytes.size() > (1u << 30)) return fail(ErrorCode::kLimit, "more than 1 GiB of gzip");
  Inflater inflater(bytes);
  if (!inflater.is_ok()) return fail(ErrorCode::kInternal, "zlib does not start");
  std::string out;
  std::size_t used = 0;
  for (;;) {
    RETURN_IF_ERROR(inflate_member(inflater.stream(), out, used, max_bytes));
    if (inflater.rest().empty()) break;
    if (!is_gzip(inflater.rest())) {
      return fail(ErrorCode::kInvalid,
                  std::to_string(inflater.rest().size()) + " bytes of garbage after the gzip stream");
    }
    inflateReset(&inflater.stream());
  }
  out.resize(used);
  return out;
}

Result<> gzip_into(std::string_view bytes, const std::function<Result<>(std::string_view)>& sink) {
  constexpr std::size_t kPiece = 64u << 10;
  z_stream stream{};
  // Level 6, as is usual; memLevel 8 = 256 KiB of state for the call.
  OOMW_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string piece(std::min(kPiece, deflateBound(&stream, bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  Result<> outcome;
  for (int status = Z_OK; status == Z_OK && outcome;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = deflate(&stream, Z_FINISH);
    OOMW_CHECK(status == Z_OK || status == Z_STREAM_END);
    outcome = sink(std::string_view(piece).substr(0, piece.size() - stream.avail_out));
  }
  deflateEnd(&stream);
  return outcome;
}

std::string gzip(std::string_view bytes) {
  std::string out;
  (void)gzip_into(bytes, [&](std::string_view piece) -> Result<> {  // this sink does not fail
    out.append(piece);
    return {};
  });
  return out;
}

}  // namespace oomw::pprof
