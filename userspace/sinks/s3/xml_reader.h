// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw {

// What an XML document says, element by element. For the answers of S3 and STS, which are foreign bytes: no DTD, no
// comments, no CDATA, at most 16 levels; linear in the document's length. Pure.
struct XmlHandlers {
  std::function<void(std::string_view name)> on_open;
  // An element without elements in it: its text, entities resolved. `parent`: the name of the element around it.
  std::function<void(std::string_view parent, std::string_view name, std::string text)> on_leaf;
};

inline constexpr std::size_t kMaxXmlLevels = 16;

[[nodiscard]] Result<> read_xml(std::string_view document, const XmlHandlers& handlers);

}  // namespace oomw
