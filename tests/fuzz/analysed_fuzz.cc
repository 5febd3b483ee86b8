// SPDX-License-Identifier: Apache-2.0
// What a reader process answers that a container has taken over: refused, or a result within its bounds that writes and
// reads as itself.
#include <algorithm>
#include <string>

#include "analyses/analysis_wire.h"
#include "base/result.h"
#include "base/text.h"
#include "fuzz/text_target.h"

namespace {

using oomw::HeapAnalysed;

bool is_text(const std::string& text) { return text == oomw::printable(text, HeapAnalysed::kMaxText); }

bool are_texts(const std::vector<std::string>& texts, std::size_t most) {
  return texts.size() <= most && std::ranges::all_of(texts, is_text);
}

bool is_share(double share) { return share >= 0 && share <= 1; }

void check(const HeapAnalysed& analysed) {
  OOMW_CHECK(is_text(analysed.detail) && is_text(analysed.why_no_owner));
  OOMW_CHECK(is_share(analysed.rooted_ratio.value_or(0)) && is_share(analysed.named_ratio.value_or(0)));
  OOMW_CHECK(are_texts(analysed.notes, HeapAnalysed::kMaxNotes));
  OOMW_CHECK(analysed.holders.size() <= HeapAnalysed::kMaxHolders);
  for (const auto& holder : analysed.holders) {
    OOMW_CHECK(is_share(holder.share) && is_text(holder.component));
    OOMW_CHECK(are_texts(holder.chain, HeapAnalysed::kMaxChain));
  }
  OOMW_CHECK(analysed.goroutines.size() <= HeapAnalysed::kMaxGoroutines);
  for (const auto& one : analysed.goroutines) {
    OOMW_CHECK(is_text(one.state) && is_text(one.created_by) && is_text(one.component));
    OOMW_CHECK(are_texts(one.stack, HeapAnalysed::kMaxStack));
  }
  OOMW_CHECK(analysed.fillers.size() <= HeapAnalysed::kMaxFillers);
  for (const auto& filler : analysed.fillers) {
    OOMW_CHECK(is_share(filler.share) && is_text(filler.kind) && is_text(filler.name) && is_text(filler.held_as));
  }
  OOMW_CHECK(analysed.parts.size() <= HeapAnalysed::kMaxParts);
  for (const auto& part : analysed.parts) {
    OOMW_CHECK(is_text(part.name) && is_text(part.runtime) && is_text(part.source));
  }
  OOMW_CHECK(analysed.files.size() <= HeapAnalysed::kMaxFiles);
}

}  // namespace

void fuzz_text(std::string_view answer) {
  const auto analysed = oomw::decode_analysed(answer);
  if (!analysed) return;
  check(*analysed);
  const auto text = oomw::encode_analysed(*analysed);
  if (!text) return;  // too long without its lists: notes of 200 characters
  const auto again = oomw::decode_analysed(*text);
  OOMW_CHECK(again.has_value());
  const auto same = oomw::encode_analysed(*again);
  OOMW_CHECK(same && *same == *text);
}
