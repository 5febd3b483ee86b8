// SPDX-License-Identifier: Apache-2.0
// A profile's facts on their way from the reader.
#pragma once

#include "facts/profile_facts.h"
#include "reader/wire.h"

namespace oomw {

// Components that would make the message too long are left out, the smallest first.
void write_facts(reader::WireWriter& out, const ProfileFacts& facts);

// Within the bounds of ProfileFacts whatever the message holds, and every text printable. What is missing is 0 or
// empty; the caller asks in.is_complete().
[[nodiscard]] ProfileFacts read_facts(reader::WireReader& in);

}  // namespace oomw
