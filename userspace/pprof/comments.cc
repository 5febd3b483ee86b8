// SPDX-License-Identifier: Apache-2.0
#include <protozero/pbf_writer.hpp>

#include "pprof/codec.h"
#include "pprof/fields.h"

namespace oomw::pprof {

// Protobuf merges appended fields, and a gzip file may have several members (RFC 1952, 2.2), which are read as one. So
// the old bytes stay as they are: they need neither be unpacked to count their strings, nor packed again.
std::string comment_member(std::uint64_t string_count, const std::vector<std::string>& comments) {
  std::string appended;
  protozero::pbf_writer out(appended);
  for (const auto& comment : comments) {
    out.add_string(kStringTableField, comment);
    out.add_uint64(kCommentField, string_count++);
  }
  return gzip(appended);
}

}  // namespace oomw::pprof
