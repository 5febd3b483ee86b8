// SPDX-License-Identifier: Apache-2.0
#include "captures/facts_wire.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace oomw {
namespace {

// Of the 64 KiB of a message; sites and operations take 43 KiB at most, if all their characters are of four bytes.
constexpr std::size_t kMaxComponentBytes = 16u << 10;

// As it is answered; of what was not taken only the first four members.
struct ReadingEnd {
  bool is_ok = false;
  CaptureReason reason = CaptureReason::kNone;
  std::string detail;
  std::uint64_t string_count = 0, live_bytes = 0;
  ProfileFacts facts;
};

void describe(auto& v, Of<ReadingEnd> auto& end) {
  v("is_ok", end.is_ok);
  v("reason", end.reason);
  v("detail", end.detail, Chars{1024});
  v("string_count", end.string_count);
  v("live_bytes", end.live_bytes);
  v("facts", end.facts);
}

}  // namespace

void fit_in_message(ProfileFacts& facts) {
  std::size_t bytes = 0;
  const auto is_too_much = [&](const CollectorComponent& component) {
    bytes += component.kind.size() + component.id.size() + component.module.size() + 40;
    return bytes > kMaxComponentBytes;
  };
  facts.components.erase(std::ranges::find_if(facts.components, is_too_much), facts.components.end());
}

SentProcess sent(const GoProcess& process) {
  return {process.key, process.exe ? process.exe->path() : "", *process.binary, process.target};
}

std::shared_ptr<GoProcess> received(SentProcess sent, int exe) {
  auto process = std::make_shared<GoProcess>();
  process->key = sent.key;
  process->binary = std::make_shared<const go::GoBinary>(std::move(sent.binary));
  process->target = std::move(sent.target);
  if (exe >= 0) {
    process->exe = std::make_shared<const ExeHandle>(UniqueFd(::dup(exe)), FileIdentity{}, sent.exe_path,
                                                     std::make_shared<ExeHandle::Unused>());
  }
  return process;
}

std::string encode_end(const CaptureFinished& finished, std::uint64_t string_count) {
  ReadingEnd end{finished.result == CaptureResult::kOk, finished.reason, finished.detail, string_count, 0, {}};
  if (end.is_ok) {
    end.live_bytes = finished.live_bytes.value_or(0);
    end.facts = {finished.inuse_bytes.value_or(0), finished.sample_count.value_or(0), finished.of, finished.components,
                 finished.sites};
    fit_in_message(end.facts);
  }
  return reader::to_wire<record::Format>(end);
}

Result<CaptureFinished> decode_end(std::string_view answer, ProcessKey process, MonotonicTime taken_at,
                                   CaptureFinished begun, std::uint64_t& string_count) {
  ASSIGN_OR_RETURN(ReadingEnd end, (reader::from_wire<record::Format, ReadingEnd>(answer)));
  string_count = end.string_count;
  if (!end.is_ok) return not_taken(std::move(begun), taken_at, {end.reason, std::move(end.detail)});
  ProfileFacts& facts = end.facts;
  TakenHeap heap{
      process, facts.of, facts.inuse_bytes, end.live_bytes, facts.sample_count, end.reason, std::move(end.detail)};
  heap.components = std::move(facts.components);
  heap.sites = std::move(facts.sites);
  return taken(std::move(begun), taken_at, std::move(heap));
}

}  // namespace oomw
