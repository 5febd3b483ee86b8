// SPDX-License-Identifier: Apache-2.0
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "pprof/codec.h"
#include "pprof/fields.h"
#include "pprof/gzip.h"

namespace oomw::pprof {
namespace {

Result<std::int64_t> count_strings(std::string_view raw) {
  std::int64_t count = 0;
  try {
    for (protozero::pbf_reader m(raw.data(), raw.size()); m.next(); m.skip()) {
      if (m.tag() == kStringTableField) ++count;
    }
  } catch (const protozero::end_of_buffer_exception&) {
    return fail(ErrorCode::kInvalid, "truncated protobuf");
  } catch (const protozero::exception&) {
    return fail(ErrorCode::kInvalid, kNotAProfile);
  }
  if (count == 0) return fail(ErrorCode::kInvalid, "no string table");
  return count;
}

}  // namespace

Result<std::string> append_comments(std::string_view bytes, const std::vector<std::string>& comments,
                                    const ReadLimits& limits) {
  ASSIGN_OR_RETURN(std::string raw, unpack(bytes, limits.max_inflated_bytes));
  ASSIGN_OR_RETURN(std::int64_t next_index, count_strings(raw));
  std::string appended;
  protozero::pbf_writer out(appended);
  for (const auto& comment : comments) {
    out.add_string(kStringTableField, comment);
    out.add_int64(kCommentField, next_index++);
  }
  if (!is_gzip(bytes)) return gzip(raw + appended);
  // A gzip file may have several members (RFC 1952, 2.2), which are read as one. So the old bytes stay as they
  // are, and 20 MB need not be packed again (0.5 s) for one more line.
  return std::string(bytes) + gzip(appended);
}

}  // namespace oomw::pprof
