// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "runtimes/go/elf_file.h"

namespace oomw::go {

// "go1.26.1" from .go.buildinfo, printable and at most 64 characters. kNotFound where there is
// none; Go 1.17 and older stored a pointer instead of the text: kUnsupported.
[[nodiscard]] Result<std::string> read_go_version(const ElfFile& elf);

}  // namespace oomw::go
