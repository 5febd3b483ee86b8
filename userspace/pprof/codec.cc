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

// Protobuf to Profile in two passes, because strings may come after those who use them. A field
// of an unexpected wire type counts as unknown and is skipped, as protobuf asks.
//   - the first complaint wins and is returned at the end; decoding goes on with empty values;
//   - what is allocated is bounded by ReadLimits, also when one string is referred to often.
// protozero throws on malformed input: run() is called inside read()'s try block only.
class Decoder {
 public:
  explicit Decoder(const ReadLimits& limits) : limits_(limits) {}

  Result<Profile> run(std::string_view bytes) {
    collect(bytes);
    build();
    if (!complaint_.message.empty()) return tl::make_unexpected(std::move(complaint_));
    RETURN_IF_ERROR(check(profile_));
    return std::move(profile_);
  }

 private:
  void complain(ErrorCode code, std::string message) {
    if (complaint_.message.empty()) complaint_ = {code, std::move(message)};
  }

  // One more item of `count`; false once over the limit.
  bool admit(std::size_t& count, std::size_t max) {
    if (++count <= max) return true;
    complain(ErrorCode::kLimit, "more than " + std::to_string(max) + " items");
    return false;
  }
  bool admit_item() { return admit(items_, limits_.max_items); }

  std::int64_t number(pbf_reader& m) {
    if (m.wire_type() == pbf_wire_type::varint) return static_cast<std::int64_t>(m.get_uint64());
    m.skip();
    return 0;
  }
  std::uint64_t id(pbf_reader& m) { return static_cast<std::uint64_t>(number(m)); }
  bool flag(pbf_reader& m) { return number(m) != 0; }

  data_view view(pbf_reader& m) {
    if (m.wire_type() == pbf_wire_type::length_delimited) return m.get_view();
    m.skip();
    return {};
  }

  void view_into(std::vector<data_view>& out, pbf_reader& m) {
    const data_view part = view(m);
    if (admit_item()) out.push_back(part);
  }

  // A repeated scalar, packed or not.
  template <typename T>
  void numbers_into(std::vector<T>& out, pbf_reader& m) {
    const std::size_t max = limits_.max_items * kNumbersPerItem;
    if (m.wire_type() != pbf_wire_type::length_delimited) {
      const std::int64_t value = number(m);
      if (admit(numbers_, max)) out.push_back(static_cast<T>(value));
      return;
    }
    for (const std::uint64_t value : m.get_packed_uint64()) {
      if (!admit(numbers_, max)) return;
      out.push_back(static_cast<T>(value));
    }
  }

  std::string text(std::int64_t index) {
    if (index < 0 || static_cast<std::uint64_t>(index) >= strings_.size()) {
      complain(ErrorCode::kInvalid, "no string " + std::to_string(index));
      return {};
    }
    const data_view& s = strings_[static_cast<std::size_t>(index)];
    text_bytes_ += s.size();
    if (text_bytes_ > limits_.max_inflated_bytes) {
      complain(ErrorCode::kLimit, "strings are repeated to more than " + std::to_string(limits_.max_inflated_bytes));
      return {};
    }
    return {s.data(), s.size()};
  }
  std::string text(pbf_reader& m) { return text(number(m)); }

  void collect(std::string_view bytes) {
    pbf_reader m(bytes.data(), bytes.size());
    while (m.next()) collect_field(m);
    if (strings_.empty()) return complain(ErrorCode::kInvalid, "no string table");
    if (!strings_.front().empty()) complain(ErrorCode::kInvalid, "string 0 is not empty");
  }

  void collect_field(pbf_reader& m) {
    namespace f = field::profile;
    switch (m.tag()) {
      case f::kSampleType:
        return view_into(sample_types_, m);
      case f::kSample:
        return view_into(samples_, m);
      case f::kMapping:
        return view_into(mappings_, m);
      case f::kLocation:
        return view_into(locations_, m);
      case f::kFunction:
        return view_into(functions_, m);
      case f::kStringTable:
        return view_into(strings_, m);
      case f::kComment:
        return numbers_into(comments_, m);
      default:
        return collect_scalar(m);
    }
  }

  void collect_scalar(pbf_reader& m) {
    namespace f = field::profile;
    switch (m.tag()) {
      case f::kDropFrames:
        drop_frames_ = number(m);
        break;
      case f::kKeepFrames:
        keep_frames_ = number(m);
        break;
      case f::kTimeNanos:
        profile_.time_nanos = number(m);
        break;
      case f::kDurationNanos:
        profile_.duration_nanos = number(m);
        break;
      case f::kPeriodType:
        period_type_ = view(m);
        break;
      case f::kPeriod:
        profile_.period = number(m);
        break;
      case f::kDefaultSampleType:
        default_sample_type_ = number(m);
        break;
      case f::kDocUrl:
        doc_url_ = number(m);
        break;
      default:
        m.skip();
    }
  }

  void build() {
    // With no strings every reference would complain; the first complaint is made already.
    if (strings_.empty()) return;
    for (const auto& part : sample_types_) profile_.sample_types.push_back(value_type(part));
    for (const auto& part : mappings_) profile_.mappings.push_back(mapping(part));
    for (const auto& part : functions_) profile_.functions.push_back(function(part));
    for (const auto& part : locations_) profile_.locations.push_back(location(part));
    for (const auto& part : samples_) profile_.samples.push_back(sample(part));
    for (const std::int64_t index : comments_) profile_.comments.push_back(text(index));
    profile_.period_type = value_type(period_type_);
    profile_.drop_frames = text(drop_frames_);
    profile_.keep_frames = text(keep_frames_);
    profile_.default_sample_type = text(default_sample_type_);
    profile_.doc_url = text(doc_url_);
  }

  ValueType value_type(data_view part) {
    namespace f = field::value_type;
    ValueType out;
    for (pbf_reader m(part); m.next();) {
      if (m.tag() == f::kType) {
        out.type = text(m);
      } else if (m.tag() == f::kUnit) {
        out.unit = text(m);
      } else {
        m.skip();
      }
    }
    return out;
  }

  Mapping mapping(data_view part) {
    namespace f = field::mapping;
    Mapping out;
    for (pbf_reader m(part); m.next();) {
      switch (m.tag()) {
        case f::kId:
          out.id = id(m);
          break;
        case f::kMemoryStart:
          out.memory_start = id(m);
          break;
        case f::kMemoryLimit:
          out.memory_limit = id(m);
          break;
        case f::kFileOffset:
          out.file_offset = id(m);
          break;
        case f::kFilename:
          out.filename = text(m);
          break;
        case f::kBuildId:
          out.build_id = text(m);
          break;
        default:
          mapping_flag(out, m);
      }
    }
    return out;
  }

  void mapping_flag(Mapping& out, pbf_reader& m) {
    namespace f = field::mapping;
    switch (m.tag()) {
      case f::kHasFunctions:
        out.has_functions = flag(m);
        break;
      case f::kHasFilenames:
        out.has_filenames = flag(m);
        break;
      case f::kHasLineNumbers:
        out.has_line_numbers = flag(m);
        break;
      case f::kHasInlineFrames:
        out.has_inline_frames = flag(m);
        break;
      default:
        m.skip();
    }
  }

  Function function(data_view part) {
    namespace f = field::function;
    Function out;
    for (pbf_reader m(part); m.next();) {
      switch (m.tag()) {
        case f::kId:
          out.id = id(m);
          break;
        case f::kName:
          out.name = text(m);
          break;
        case f::kSystemName:
          out.system_name = text(m);
          break;
        case f::kFilename:
          out.filename = text(m);
          break;
        case f::kStartLine:
          out.start_line = number(m);
          break;
        default:
          m.skip();
      }
    }
    return out;
  }

  Location location(data_view part) {
    namespace f = field::location;
    Location out;
    for (pbf_reader m(part); m.next();) {
      switch (m.tag()) {
        case f::kId:
          out.id = id(m);
          break;
        case f::kMappingId:
          out.mapping_id = id(m);
          break;
        case f::kAddress:
          out.address = id(m);
          break;
        case f::kLine:
          if (const data_view nested = view(m); admit_item()) out.lines.push_back(line(nested));
          break;
        default:
          m.skip();
      }
    }
    return out;
  }

  Line line(data_view part) {
    namespace f = field::line;
    Line out;
    for (pbf_reader m(part); m.next();) {
      if (m.tag() == f::kFunctionId) {
        out.function_id = id(m);
      } else if (m.tag() == f::kLine) {
        out.line = number(m);
      } else {
        m.skip();
      }
    }
    return out;
  }

  Sample sample(data_view part) {
    namespace f = field::sample;
    Sample out;
    for (pbf_reader m(part); m.next();) {
      switch (m.tag()) {
        case f::kLocationId:
          numbers_into(out.location_ids, m);
          break;
        case f::kValue:
          numbers_into(out.values, m);
          break;
        case f::kLabel:
          if (const data_view nested = view(m); admit_item()) out.labels.push_back(label(nested));
          break;
        default:
          m.skip();
      }
    }
    return out;
  }

  Label label(data_view part) {
    namespace f = field::label;
    Label out;
    for (pbf_reader m(part); m.next();) {
      switch (m.tag()) {
        case f::kKey:
          out.key = text(m);
          break;
        case f::kText:
          out.text = text(m);
          break;
        case f::kNumber:
          out.number = number(m);
          break;
        case f::kUnit:
          out.unit = text(m);
          break;
        default:
          m.skip();
      }
    }
    return out;
  }

  const ReadLimits& limits_;
  Error complaint_;
  std::size_t items_ = 0, numbers_ = 0, text_bytes_ = 0;
  std::vector<data_view> sample_types_, samples_, mappings_, locations_, functions_, strings_;
  std::vector<std::int64_t> comments_;
  data_view period_type_;
  std::int64_t drop_frames_ = 0, keep_frames_ = 0, default_sample_type_ = 0, doc_url_ = 0;
  Profile profile_;
};

// A protobuf has a byte below ' ' within its first few fields, tags and lengths being what they are.
bool is_text(std::string_view bytes) {
  constexpr std::size_t kEnough = 256;
  return std::ranges::all_of(bytes.substr(0, kEnough), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= ' ' || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

}  // namespace

Result<Profile> read(std::string_view bytes, const ReadLimits& limits) {
  if (bytes.empty()) return fail(ErrorCode::kInvalid, "empty");
  if (is_text(bytes)) return fail(ErrorCode::kInvalid, "is text, not a pprof profile (gzip or protobuf)");
  ASSIGN_OR_RETURN(const std::string raw, unpack(bytes, limits.max_inflated_bytes));
  try {
    return Decoder(limits).run(raw);
  } catch (const protozero::end_of_buffer_exception&) {
    return fail(ErrorCode::kInvalid, "truncated protobuf");
  } catch (const protozero::exception&) {
    return fail(ErrorCode::kInvalid, kNotAProfile);
  }
}

}  // namespace oomw::pprof
