// SPDX-License-Identifier: Apache-2.0
#include "memory/cached_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace oomw {

CachedReader::CachedReader(const ByteSource& source, std::uint64_t max_bytes, std::size_t block_bytes)
    : source_(source), max_bytes_(max_bytes), block_bytes_(block_bytes) {}

Result<std::size_t> CachedReader::fetch(std::uint64_t offset, std::span<std::byte> out) {
  is_used_up_ = is_used_up_ || cost_ + out.size() > max_bytes_;
  if (is_used_up_) {
    return fail(ErrorCode::kLimit, "more than " + std::to_string(max_bytes_) + " bytes to read");
  }
  ++fetches_;
  auto n = source_.read_some(offset, out);
  if (n.has_value()) bytes_fetched_ += *n;
  cost_ += std::max(std::min(kLeastCost, block_bytes_), n.value_or(0));
  return n;
}

Result<const CachedReader::Block*> CachedReader::block_at(std::uint64_t number) {
  // Most reads hit the previous read's block; a table's index and its records alternate between two.
  if (recent_->is_filled && recent_->number == number) return recent_;
  Block* oldest = &blocks_[0];
  for (Block& block : blocks_) {
    if (block.is_filled && block.number == number) {
      block.last_use = ++uses_;
      return recent_ = &block;
    }
    if (block.last_use < oldest->last_use) oldest = &block;
  }
  oldest->is_filled = false;
  oldest->bytes.resize(block_bytes_);
  ASSIGN_OR_RETURN(oldest->filled_bytes, fetch(number * block_bytes_, oldest->bytes));
  oldest->number = number;
  oldest->last_use = ++uses_;
  oldest->is_filled = true;
  return recent_ = oldest;
}

Result<std::size_t> CachedReader::read_some(std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    if (offset > std::numeric_limits<std::uint64_t>::max() - done) break;
    const std::uint64_t at = offset + done;
    const std::size_t within = at % block_bytes_;
    ASSIGN_OR_RETURN(const Block* block, block_at(at / block_bytes_));
    std::size_t n = 0;
    if (within < block->filled_bytes) {
      n = std::min(out.size() - done, block->filled_bytes - within);
      std::memcpy(out.data() + done, block->bytes.data() + within, n);
    } else {
      // The block begins in, or runs into, a hole of the address space: read only these bytes.
      ASSIGN_OR_RETURN(n, fetch(at, out.subspan(done, std::min(out.size() - done, block_bytes_ - within))));
    }
    if (n == 0) break;
    done += n;
  }
  return done;
}

Result<> CachedReader::read(std::uint64_t offset, std::span<std::byte> out) {
  ASSIGN_OR_RETURN(const std::size_t n, read_some(offset, out));
  if (n < out.size()) return fail(ErrorCode::kInvalid, "no bytes at offset " + std::to_string(offset));
  return {};
}

Result<std::string> CachedReader::c_string(std::uint64_t offset, std::size_t max_bytes) {
  std::string text;
  std::array<std::byte, 128> chunk;
  while (text.size() < max_bytes) {
    const std::size_t want = std::min(chunk.size(), max_bytes - text.size());
    ASSIGN_OR_RETURN(const std::size_t n, read_some(offset + text.size(), std::span(chunk).first(want)));
    const auto* begin = reinterpret_cast<const char*>(chunk.data());
    const auto* end = std::find(begin, begin + n, '\0');
    text.append(begin, end);
    if (end != begin + n) return text;
    if (n < want) return fail(ErrorCode::kInvalid, "text without an end");
  }
  return text;
}

}  // namespace oomw
