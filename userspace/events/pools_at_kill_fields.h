// SPDX-License-Identifier: Apache-2.0
// How pools are written in recordings, and PoolsAtKill in incident.json too: see events/json_fields.h. For .cc files.
#pragma once

#include "events/json_fields.h"
#include "events/pools_at_kill.h"

namespace oomw {

void describe(auto& v, Of<PoolsAtKill::Type> auto& type) {
  v("name", type.name, Chars{PoolTable::kMaxNameChars}, Presence::kRequired);
  v("bytes", type.bytes, Presence::kRequired);
  v("count", type.count);
  v("pools", type.pools);
  v("error_bytes", type.error_bytes);
}

void describe(auto& v, Of<PoolsAtKill> auto& found) {
  v("bytes", found.bytes, Presence::kRequired);
  v("pools", found.pools, Presence::kRequired);
  v("pools_read", found.pools_read, Presence::kRequired);
  v("types", found.types, Items{PoolTable::kMaxTypes});
  v("cut", found.cut, Chars{PoolTable::kMaxNameChars}, Presence::kOmitted);
}

void describe(auto& v, Of<PoolCounts> auto& e) {
  v("arenas", e.arenas);
  v("used", e.used);
  v("read", e.read);
  v("absent", e.absent);
  v("malformed", e.malformed);
  v("bytes", e.bytes);
}

void describe(auto& v, Of<PoolTable::Type> auto& e) {
  v("address", e.address);
  v("name", e.name, Chars{PoolTable::kMaxNameChars});
}

void describe(auto& v, Of<PoolTable> auto& e) {
  v("arenas", e.arenas);
  v("type_type", e.type_type);
  v("pool_bytes", e.pool_bytes);
  v("types", e.types, Items{PoolTable::kMaxTypes});
}

}  // namespace oomw
