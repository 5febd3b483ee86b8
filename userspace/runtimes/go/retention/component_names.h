// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtimes/go/retention/spans.h"

namespace oomw::go::retention {

// The name that a Collector's configuration gives a component, "exporter/otlp/tempo", as its own instrumentation has it
// beside whatever the component keeps: an attribute of metrics, that is two strings one behind the other
// (go.opentelemetry.io/otel/attribute: KeyValue{Key string, Value{vtype, numeric, stringly string, slice any}}, with
// "exporter", "processor", "receiver" or "connector" as its key), or the name of its spans
// ("exporter/otlp/tempo/traces").
//
// Searched from the objects `from` along pointers, nearest first. nullopt: none within 512 objects and 4 steps, or
// different names equally near: what many components share leads to all of them. A name is at most 128 characters of
// letters, digits, '_', '-', '.' and '/'.
[[nodiscard]] std::optional<std::string> component_near(std::span<const std::uint64_t> from, const SpanTable& spans,
                                                        CachedReader& memory);

}  // namespace oomw::go::retention
