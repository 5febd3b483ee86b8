// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw {

// The import path of a Go function's package: "net/http" of "net/http.(*conn).serve", "a/b" of "a/b.(*T[...]).M". Type
// parameters may hold paths of their own. A name without a dot is returned whole; for names of other languages see
// pprof::package_of().
[[nodiscard]] inline std::string_view go_package_of(std::string_view function) {
  const std::string_view plain = function.substr(0, function.find('['));
  const std::size_t slash = plain.rfind('/');
  return plain.substr(0, plain.find('.', slash == std::string_view::npos ? 0 : slash));
}

}  // namespace oomw
