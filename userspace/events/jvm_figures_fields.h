// SPDX-License-Identifier: Apache-2.0
// How JvmFigures are written in recordings and in incident.json: see events/json_fields.h. For .cc files.
#pragma once

#include "events/json_fields.h"
#include "events/jvm_figures.h"

namespace oomw {

void describe(auto& v, Of<JvmFigures> auto& figures) {
  v("heap_used_bytes", figures.heap_used_bytes, Presence::kOmitted);
  v("heap_committed_bytes", figures.heap_committed_bytes, Presence::kOmitted);
  v("heap_resident_bytes", figures.heap_resident_bytes, Presence::kOmitted);
  v("heap_max_bytes", figures.heap_max_bytes, Presence::kOmitted);
  v("metaspace_used_bytes", figures.metaspace_used_bytes, Presence::kOmitted);
  v("metaspace_committed_bytes", figures.metaspace_committed_bytes, Presence::kOmitted);
  v("metaspace_resident_bytes", figures.metaspace_resident_bytes, Presence::kOmitted);
  v("metaspace_max_bytes", figures.metaspace_max_bytes, Presence::kOmitted);
  v("code_cache_resident_bytes", figures.code_cache_resident_bytes, Presence::kOmitted);
  v("code_cache_max_bytes", figures.code_cache_max_bytes, Presence::kOmitted);
  v("direct_bytes", figures.direct_bytes, Presence::kOmitted);
  v("direct_buffers", figures.direct_buffers, Presence::kOmitted);
  v("direct_max_bytes", figures.direct_max_bytes, Presence::kOmitted);
  v("threads", figures.threads, Presence::kOmitted);
  v("threads_peak", figures.threads_peak, Presence::kOmitted);
  v("thread_stack_bytes", figures.thread_stack_bytes, Presence::kOmitted);
  v("loaded_classes", figures.loaded_classes, Presence::kOmitted);
  v("class_loaders", figures.class_loaders, Presence::kOmitted);
  v("collections", figures.collections, Presence::kOmitted);
  v("uptime_seconds", figures.uptime_seconds, Within{0, JvmFigures::kMaxSeconds}, Presence::kOmitted);
  v("collection_seconds", figures.collection_seconds, Within{0, JvmFigures::kMaxSeconds}, Presence::kOmitted);
  v("seconds_since_collection", figures.seconds_since_collection, Within{0, JvmFigures::kMaxSeconds},
    Presence::kOmitted);
}

}  // namespace oomw
