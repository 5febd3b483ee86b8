// SPDX-License-Identifier: Apache-2.0
#include "analyses/analysis_wire.h"

#include <algorithm>

#include <fmt/format.h>

#include "events/event_fields.h"
#include "reader/wire_fields.h"

namespace oomw {
namespace {

// Of the 64 KiB of a message; the header of an answer takes little.
constexpr std::size_t kMaxWireBytes = 60u << 10;

// Drops from the ends of the lists, the smallest entries first.
bool shed(HeapAnalysed& analysed) {
  if (!analysed.goroutines.empty()) return analysed.goroutines.pop_back(), true;
  if (analysed.holders.size() > 1) return analysed.holders.pop_back(), true;
  if (!analysed.fillers.empty()) return analysed.fillers.pop_back(), true;
  if (!analysed.parts.empty()) return analysed.parts.pop_back(), true;
  return false;
}

std::string written(const HeapAnalysed& analysed) {
  reader::WireWriter out;
  out.number(static_cast<std::uint64_t>(analysed.time.ns));
  reader::write_fields<record::Format>(out, analysed);
  return out.take();
}

}  // namespace

Result<std::string> encode_analysed(HeapAnalysed analysed) {
  std::string bytes = written(analysed);
  if (bytes.size() <= kMaxWireBytes) return bytes;
  analysed.notes.resize(std::min(analysed.notes.size(), HeapAnalysed::kMaxNotes - 1));
  analysed.notes.emplace_back();
  for (std::size_t count = 1; bytes.size() > kMaxWireBytes; ++count) {
    if (!shed(analysed)) return fail(ErrorCode::kLimit, "the result is too long");
    analysed.notes.back() = fmt::format("{} entries of lists found no room in the reader's answer", count);
    bytes = written(analysed);
  }
  return bytes;
}

Result<HeapAnalysed> decode_analysed(std::string_view bytes) {
  reader::WireReader in(bytes);
  const MonotonicTime time{in.signed_number()};
  auto analysed = reader::read_fields<record::Format, HeapAnalysed>(in);
  if (!in.is_complete()) return fail(ErrorCode::kInvalid, "the reader answered something else");
  analysed.time = time;
  return analysed;
}

}  // namespace oomw
