// SPDX-License-Identifier: Apache-2.0
#include "pprof/codec.h"

#include <algorithm>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "pprof/check.h"
#include "pprof/fields.h"
#include "pprof/gzip.h"

namespace oomw::pprof {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Go writes 33 location ids and 4 values a sample at most by default; 8 per item is generous and
// keeps a body of one-byte ids (8 bytes each once decoded) within bounds.
constexpr std::size_t kNumbersPerItem = 8;

// Protobuf to Profile in two passes, because strings may come after the fields that use them. A field
// of an unexpected wire type counts as unknown and is skipped, as protobuf asks.
//   - the first error wins and is returned at the end; decoding goes on with empty values;
//   - allocation is bounded by ReadLimits, also when one string is referred to often.
// protozero throws on malformed input: run() is called inside read()'s try block only.
class Decoder {
 public:
  explicit Decoder(const ReadLimits& limits) : limits_(limits) {}

  Result<Profile> run(std::string_view bytes) {
    const data_view all(bytes.data(), bytes.size());
    collect_strings(all);
    // Without strings every reference would be an error, and the first error is known already.
    Profile profile = strings_.empty() ? Profile() : message<Profile>(all);
    if (!error_.message.empty()) return tl::make_unexpected(std::move(error_));
    RETURN_IF_ERROR(check(profile));
    return profile;
  }
  [[nodiscard]] std::uint64_t string_count() const { return strings_.size(); }

 private:
  void note(ErrorCode code, std::string message) {
    if (error_.message.empty()) error_ = {code, std::move(message)};
  }

  // Adds one to `count`; false once it is over the limit.
  bool admit(std::size_t& count, std::size_t max) {
    if (++count <= max) return true;
    note(ErrorCode::kLimit, "more than " + std::to_string(max) + " items");
    return false;
  }
  bool admit_item() { return admit(items_, limits_.max_items); }

  void collect_strings(data_view bytes) {
    for (pbf_reader m(bytes); m.next();) {
      if (m.tag() != kStringTableField) {
        m.skip();
      } else if (const data_view text = view(m); admit_item()) {
        strings_.push_back(text);
      }
    }
    if (strings_.empty()) return note(ErrorCode::kInvalid, "no string table");
    if (!strings_.front().empty()) note(ErrorCode::kInvalid, "string 0 is not empty");
  }

  template <typename Message>
  Message message(data_view bytes) {
    Message out;
    for (pbf_reader m(bytes); m.next();) {
      bool is_known = false;
      describe(out, [&](std::uint32_t number, auto& member) {
        if (m.tag() != number || is_known) return;
        is_known = true;
        take(m, member);
      });
      if (!is_known) m.skip();
    }
    return out;
  }

  static std::uint64_t number(pbf_reader& m) {
    if (m.wire_type() == pbf_wire_type::varint) return m.get_uint64();
    m.skip();
    return 0;
  }

  static data_view view(pbf_reader& m) {
    if (m.wire_type() == pbf_wire_type::length_delimited) return m.get_view();
    m.skip();
    return {};
  }

  void take(pbf_reader& m, std::uint64_t& out) { out = number(m); }
  void take(pbf_reader& m, std::int64_t& out) { out = static_cast<std::int64_t>(number(m)); }
  void take(pbf_reader& m, bool& out) { out = number(m) != 0; }
  void take(pbf_reader& m, std::string& out) { out = text(number(m)); }
  void take(pbf_reader& m, ValueType& out) { out = message<ValueType>(view(m)); }

  void take(pbf_reader& m, std::vector<std::string>& out) {
    std::vector<std::uint64_t> indices;
    take(m, indices);
    for (const std::uint64_t index : indices) out.push_back(text(index));
  }

  template <typename Item>
  void take(pbf_reader& m, std::vector<Item>& out) {
    if constexpr (std::is_integral_v<Item>) {
      take_numbers(m, out);
    } else if (const data_view bytes = view(m); admit_item()) {
      out.push_back(message<Item>(bytes));
    }
  }

  // A repeated scalar, packed or not.
  template <typename Number>
  void take_numbers(pbf_reader& m, std::vector<Number>& out) {
    const std::size_t max = limits_.max_items * kNumbersPerItem;
    if (m.wire_type() != pbf_wire_type::length_delimited) {
      const std::uint64_t value = number(m);
      if (admit(numbers_, max)) out.push_back(static_cast<Number>(value));
      return;
    }
    for (const std::uint64_t value : m.get_packed_uint64()) {
      if (!admit(numbers_, max)) return;
      out.push_back(static_cast<Number>(value));
    }
  }

  std::string text(std::uint64_t index) {
    if (index >= strings_.size()) {
      note(ErrorCode::kInvalid, "no string " + std::to_string(static_cast<std::int64_t>(index)));
      return {};
    }
    const data_view& s = strings_[index];
    text_bytes_ += s.size();
    if (text_bytes_ > limits_.max_inflated_bytes) {
      note(ErrorCode::kLimit, "strings are repeated to more than " + std::to_string(limits_.max_inflated_bytes));
      return {};
    }
    return {s.data(), s.size()};
  }

  const ReadLimits& limits_;
  Error error_;
  std::size_t items_ = 0, numbers_ = 0, text_bytes_ = 0;
  std::vector<data_view> strings_;
};

// A protobuf has a byte below ' ' within its first few fields, because of its tags and lengths.
bool is_text(std::string_view bytes) {
  constexpr std::size_t kEnough = 256;
  return std::ranges::all_of(bytes.substr(0, kEnough), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= ' ' || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

}  // namespace

Result<Profile> read(std::string_view bytes, const ReadLimits& limits, std::uint64_t* string_count) {
  if (bytes.empty()) return fail(ErrorCode::kInvalid, "empty");
  if (is_text(bytes)) return fail(ErrorCode::kInvalid, "is text, not a pprof profile (gzip or protobuf)");
  std::string unpacked;
  if (is_gzip(bytes)) {
    ASSIGN_OR_RETURN(unpacked, gunzip(bytes, limits.max_inflated_bytes));
    bytes = unpacked;
  } else if (bytes.size() > limits.max_inflated_bytes) {
    return fail(ErrorCode::kLimit, "more than " + std::to_string(limits.max_inflated_bytes) + " bytes");
  }
  try {
    Decoder decoder(limits);
    auto profile = decoder.run(bytes);
    if (string_count != nullptr) *string_count = decoder.string_count();
    return profile;
  } catch (const protozero::end_of_buffer_exception&) {
    return fail(ErrorCode::kInvalid, "truncated protobuf");
  } catch (const protozero::exception&) {
    return fail(ErrorCode::kInvalid, kNotAProfile);
  }
}

}  // namespace oomw::pprof
