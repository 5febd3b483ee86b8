// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/shape_names.h"

#include <algorithm>
#include <functional>

namespace oomw::v8 {

std::vector<NamedShape> ShapeNames::of(std::span<const ShapeAmount> amounts) {
  std::vector<NamedShape> named;
  for (const ShapeAmount& amount : amounts) named.push_back({&amount, ""});
  const std::size_t most = std::min(named.size(), kMaxShapes);
  std::ranges::partial_sort(named, named.begin() + static_cast<std::ptrdiff_t>(most), std::greater(),
                            [](const NamedShape& one) { return one.amount->bytes; });
  named.resize(most);
  for (NamedShape& one : named) {
    const Shape& shape = shapes_.all()[one.amount->shape];
    if (one.amount->bytes < kWorthNaming && nature_of(constants_, shape) == Nature::kObject) {
      one.name = "(object)";
      continue;
    }
    one.name = first_.name_of(shape);
    if (one.name != second_.name_of(shape)) one.name = "(object)";
  }
  return named;
}

}  // namespace oomw::v8
