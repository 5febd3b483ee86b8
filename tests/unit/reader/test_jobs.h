// SPDX-License-Identifier: Apache-2.0
// Jobs of the reader that this test program starts from itself: what a parser in foreign hands would try.
#pragma once

#include <cstdint>

namespace oomw::reader::test {

enum TestJob : std::uint32_t {
  kEcho = 1,   // the parameters, and the first file's content
  kAttempt,    // the call that the parameters name; "done" or the error's name
  kHang,       // never answers
  kSpin,       // the same, busily
  kCrash,      // a null pointer
  kBomb,       // allocates and touches all it can get
  kWrite,      // writes 100 MiB into the file
  kFail,       // fails with kInvalid
  kIsVictim,   // "yes" if the process of that pid is one
  kLongAnswer  // more than a message may have
};

}  // namespace oomw::reader::test
