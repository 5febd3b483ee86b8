// SPDX-License-Identifier: Apache-2.0
#include "captures/provenance.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"

namespace oomw {
namespace {

std::string quoted(const std::string& hostile) {
  std::string text = printable(hostile, 64);
  if (!text.empty() && text.find_first_of(" \"=") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string number(const std::optional<std::uint64_t>& value) { return value ? std::to_string(*value) : "unknown"; }

}  // namespace

std::string provenance_comment(CaptureMethod method, const CaptureRequest& request, const CaptureTarget& target,
                               WallTime taken) {
  return fmt::format("oomwitness: method={} trigger={} pid={} comm={} time={} usage_bytes={} limit_bytes={}",
                     to_string(method), to_string(request.trigger), target.process.pid, quoted(target.comm),
                     to_rfc3339(taken), number(request.usage_bytes), number(request.limit_bytes));
}

}  // namespace oomw
