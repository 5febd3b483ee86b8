// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw {

// Names of the files that show what fills a process's memory (facts/contents_pprof.h), beside an incident.
inline constexpr char kContentsFile[] = "contents.pb.gz";               // by the newest reading
inline constexpr char kContentsBeforeFile[] = "contents-before.pb.gz";  // by the one before it
inline constexpr char kHoldersProfile[] = "holders.pb.gz";              // who keeps a Go program's heap

// What a note of an analysis about the process's connections begins with.
inline constexpr std::string_view kConnectionNote = "connections: ";

// How an object begins in a chain of which no type is known: "object of 48 B"; "?48" in older files.
inline constexpr std::string_view kUnnamedObject = "object of ", kUnnamedBefore = "?";

}  // namespace oomw
