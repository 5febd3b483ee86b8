// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/reading_file.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_reader.h"
#include "base/files.h"
#include "runtimes/go/bucket_bytes.h"
#include "runtimes/go/bucket_decoder.h"

namespace oomw::go {
namespace {

constexpr std::uint64_t kMaxHoldings = BucketDecoder::Limits{}.max_buckets;
constexpr std::uint64_t kMaxPcs = BucketDecoder::Limits{}.max_pcs;

struct ReadingHeader {
  std::int64_t as_of_ns = 0, rate = 0;
  std::uint64_t is_complete = 0, has_collection = 0, collection = 0, load_bias = 0, holdings = 0;
};
struct HoldingRecord {
  std::uint64_t pc_count = 0, block_bytes = 0;
  HeapAmount allocated, held, live;
};

template <typename T>
void append_values(std::string& bytes, std::span<const T> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

}  // namespace

Result<> write_reading(int fd, const HeapReading& reading) {
  constexpr std::size_t kPiece = 64u << 10;
  const ReadingHeader header{reading.as_of.ns,
                             reading.rate,
                             reading.is_complete,
                             reading.collection.has_value(),
                             reading.collection.value_or(0),
                             reading.load_bias,
                             reading.holdings.size()};
  std::string bytes;
  append_values(bytes, std::span(&header, 1));
  for (const HeapHolding& holding : reading.holdings) {
    const HoldingRecord record{holding.pc_count, holding.block_bytes, holding.allocated, holding.held, holding.live};
    append_values(bytes, std::span(&record, 1));
    append_values(bytes, reading.pcs_of(holding));
    if (bytes.size() < kPiece) continue;
    RETURN_IF_ERROR(write_all(fd, bytes));
    bytes.clear();
  }
  return write_all(fd, bytes);
}

Result<HeapReading> read_reading(int fd) {
  FileReader file(fd);
  ReadingHeader header;
  if (!file.read_numbers(std::span(&header, 1)) || header.holdings > kMaxHoldings) {
    return fail(ErrorCode::kInvalid, "not a reading");
  }
  HeapReading reading;
  reading.as_of.ns = header.as_of_ns;
  reading.rate = header.rate;
  reading.is_complete = header.is_complete == 1;
  if (header.has_collection == 1) reading.collection = static_cast<std::uint32_t>(header.collection);
  reading.load_bias = header.load_bias;
  reading.holdings.reserve(header.holdings);
  std::array<std::uint64_t, kMaxStackDepth> stack;
  for (std::uint64_t i = 0; i < header.holdings; ++i) {
    HoldingRecord record;
    const bool is_there = file.read_numbers(std::span(&record, 1)) && record.pc_count <= stack.size() &&
                          reading.pcs.size() + record.pc_count <= kMaxPcs;
    const std::span pcs(stack.data(), is_there ? record.pc_count : 0);
    if (!is_there || !file.read_numbers(pcs)) return fail(ErrorCode::kInvalid, "not a holding");
    reading.holdings.push_back({reading.pcs.append(pcs), static_cast<std::uint32_t>(pcs.size()), record.block_bytes,
                                record.allocated, record.held, record.live});
  }
  return reading;
}

}  // namespace oomw::go
