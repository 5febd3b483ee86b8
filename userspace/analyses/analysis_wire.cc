// SPDX-License-Identifier: Apache-2.0
#include "analyses/analysis_wire.h"

#include <variant>
#include <vector>

#include "base/text.h"
#include "events/record.h"

namespace oomw {
namespace {

// Of the 64 KiB of a message; the header of an answer takes little.
constexpr std::size_t kMaxWireBytes = 60u << 10;

void bound(std::string& text) { text = printable(text, HeapAnalysed::kMaxText); }

void bound(double& share) {
  if (!(share >= 0 && share <= 1)) share = share > 1 ? 1 : 0;
}

void bound(std::optional<double>& share) {
  if (share) bound(*share);
}

void bound(std::vector<std::string>& texts, std::size_t most) {
  if (texts.size() > most) texts.resize(most);
  for (std::string& text : texts) bound(text);
}

template <typename T, typename Each>
void bound(std::vector<T>& items, std::size_t most, const Each& each) {
  if (items.size() > most) items.resize(most);
  for (T& item : items) each(item);
}

void bound_seconds(std::optional<double>& seconds) {
  constexpr double kMost = 1e9;
  if (seconds && !(*seconds >= 0 && *seconds <= kMost)) seconds.reset();
}

// Drops from the ends of the lists, the smallest entries first, until the text is short enough.
bool shed(HeapAnalysed& analysed) {
  if (!analysed.goroutines.empty()) return analysed.goroutines.pop_back(), true;
  if (analysed.holders.size() > 1) return analysed.holders.pop_back(), true;
  if (!analysed.fillers.empty()) return analysed.fillers.pop_back(), true;
  if (!analysed.parts.empty()) return analysed.parts.pop_back(), true;
  return false;
}

}  // namespace

void bound(HeapAnalysed& analysed) {
  bound(analysed.detail);
  bound(analysed.why_no_owner);
  bound(analysed.rooted_ratio);
  bound(analysed.named_ratio);
  bound(analysed.sampled_ratio);
  bound(analysed.notes, HeapAnalysed::kMaxNotes);
  bound(analysed.holders, HeapAnalysed::kMaxHolders, [](HeapHolder& holder) {
    bound(holder.share);
    bound(holder.component);
    bound(holder.chain, HeapAnalysed::kMaxChain);
  });
  bound(analysed.goroutines, HeapAnalysed::kMaxGoroutines, [](GoroutineStack& one) {
    bound(one.state);
    bound(one.created_by);
    bound(one.component);
    bound(one.stack, HeapAnalysed::kMaxStack);
  });
  bound(analysed.goroutine_list, 1, [](GoroutineList& list) {
    bound(list.wait_reasons, GoroutineList::kMaxReasons,
          [](std::string& reason) { reason = printable(reason, GoroutineList::kMaxReasonChars); });
  });
  bound(analysed.pool_table, 1, [](PoolTable& table) {
    bound(table.types, PoolTable::kMaxTypes,
          [](PoolTable::Type& type) { type.name = printable(type.name, PoolTable::kMaxNameChars); });
  });
  bound(analysed.pools, 0, [](PoolsAtKill&) {});  // no reader's: the kernel counts them
  bound(analysed.fillers, HeapAnalysed::kMaxFillers, [](HeapFiller& filler) {
    bound(filler.kind);
    bound(filler.name);
    bound(filler.held_as);
    bound(filler.share);
  });
  bound(analysed.parts, HeapAnalysed::kMaxParts, [](MemoryShare& part) {
    bound(part.name);
    bound(part.runtime);
    bound(part.source);
  });
  bound(analysed.jvm, 1, [](JvmFigures& figures) {
    bound_seconds(figures.uptime_seconds);
    bound_seconds(figures.collection_seconds);
    bound_seconds(figures.seconds_since_collection);
  });
  bound(analysed.files, HeapAnalysed::kMaxFiles, [](HeapAnalysed::File&) {});
}

Result<std::string> encode_analysed(HeapAnalysed analysed) {
  bound(analysed);
  std::string text = to_json_line(analysed);
  while (text.size() > kMaxWireBytes) {
    if (!shed(analysed)) return fail(ErrorCode::kLimit, "the result is too long");
    text = to_json_line(analysed);
  }
  return text;
}

Result<HeapAnalysed> decode_analysed(std::string_view text) {
  ASSIGN_OR_RETURN(const Event event, event_from_json_line(text));
  const auto* found = std::get_if<HeapAnalysed>(&event);
  if (found == nullptr) return fail(ErrorCode::kInvalid, "the reader answered something else");
  HeapAnalysed analysed = *found;
  bound(analysed);
  return analysed;
}

}  // namespace oomw
