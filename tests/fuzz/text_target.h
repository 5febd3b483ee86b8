// SPDX-License-Identifier: Apache-2.0
// The entry of a fuzzer whose input is one text, at the usual bounds of its cost. Included once, by its .cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/cost_oracle.h"

// What the fuzzer does with one input.
void fuzz_text(std::string_view text);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size);
  fuzz_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
