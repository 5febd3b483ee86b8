// SPDX-License-Identifier: Apache-2.0
#include "captures/facts_wire.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text.h"
#include "facts/collector_components.h"

namespace oomw {
namespace {

using reader::WireReader, reader::WireWriter;

// Of the 64 KiB of a message; sites and operations take 43 KiB at most, if all their characters are of four bytes.
constexpr std::size_t kMaxComponentBytes = 16u << 10;

void write_share(WireWriter& out, double share) { out.number(std::bit_cast<std::uint64_t>(share)); }

double read_share(WireReader& in) {
  const auto share = std::bit_cast<double>(in.number());
  return share >= 0 && share <= 1 ? share : 0;
}

std::string read_text(WireReader& in) { return printable(in.text()); }

std::uint64_t read_count(WireReader& in, std::size_t most) {
  const std::uint64_t count = in.number();
  return in.is_good() ? std::min<std::uint64_t>(count, most) : 0;
}

constexpr std::size_t kMaxDetail = 1024;

go::LocateMethod read_method(WireReader& in) {
  constexpr auto kLast = static_cast<std::uint64_t>(go::LocateMethod::kScan);
  return static_cast<go::LocateMethod>(std::min(in.number(), kLast));
}

std::size_t components_that_fit(const std::vector<CollectorComponent>& components) {
  std::size_t bytes = 0, count = 0;
  for (const CollectorComponent& component : components) {
    bytes += component.kind.size() + component.id.size() + component.module.size() + 40;
    if (bytes > kMaxComponentBytes) break;
    ++count;
  }
  return count;
}

void write_components(WireWriter& out, const std::vector<CollectorComponent>& components) {
  const std::size_t count = components_that_fit(components);
  out.number(count);
  for (std::size_t i = 0; i < count; ++i) {
    const CollectorComponent& component = components[i];
    out.text(component.kind).text(component.id).text(component.module).number(component.held_bytes);
    write_share(out, component.ratio);
  }
}

std::vector<CollectorComponent> read_components(WireReader& in) {
  std::vector<CollectorComponent> components(read_count(in, kMaxCollectorComponents));
  for (CollectorComponent& component : components) {
    component.kind = read_text(in);
    component.id = read_text(in);
    component.module = read_text(in);
    component.held_bytes = in.number();
    component.ratio = read_share(in);
  }
  return components;
}

void write_sites(WireWriter& out, const HeapSites& sites) {
  out.number(sites.sites.size());
  for (const HeapSite& site : sites.sites) {
    out.text(site.code).number(site.path.size());
    for (const std::string& function : site.path) out.text(function);
    out.number(site.bytes).text(site.operation_kind).text(site.operation);
    write_share(out, site.share);
  }
  out.number(sites.operations.size());
  for (const HeapOperation& operation : sites.operations) {
    out.text(operation.kind).text(operation.name).number(operation.bytes);
    write_share(out, operation.share);
  }
}

HeapSites read_sites(WireReader& in) {
  HeapSites sites;
  sites.sites.resize(read_count(in, HeapSites::kMaxSites));
  for (HeapSite& site : sites.sites) {
    site.code = read_text(in);
    site.path.resize(read_count(in, HeapSites::kMaxPath));
    for (std::string& function : site.path) function = read_text(in);
    site.bytes = in.number();
    site.operation_kind = read_text(in);
    site.operation = read_text(in);
    site.share = read_share(in);
  }
  sites.operations.resize(read_count(in, HeapSites::kMaxOperations));
  for (HeapOperation& operation : sites.operations) {
    operation.kind = read_text(in);
    operation.name = read_text(in);
    operation.bytes = in.number();
    operation.share = read_share(in);
  }
  return sites;
}

}  // namespace

void write_facts(WireWriter& out, const ProfileFacts& facts) {
  out.number(facts.inuse_bytes).number(facts.sample_count).number(facts.of == RuntimeKind::kGo ? 1 : 0);
  write_components(out, facts.components);
  write_sites(out, facts.sites);
}

ProfileFacts read_facts(WireReader& in) {
  ProfileFacts facts;
  facts.inuse_bytes = in.number();
  facts.sample_count = in.number();
  if (in.number() == 1) facts.of = RuntimeKind::kGo;
  facts.components = read_components(in);
  facts.sites = read_sites(in);
  return facts;
}

void write_process(WireWriter& out, const GoProcess& process) {
  const go::GoBinary& binary = *process.binary;
  out.text(process.exe ? process.exe->path() : "").text(binary.go_version).text(binary.build_id);
  out.number(static_cast<std::uint64_t>(binary.method)).number(binary.is_position_independent);
  out.number(binary.text.begin).number(binary.text.end).number(process.target.has_value());
  const go::HeapTarget target = process.target.value_or(go::HeapTarget{});
  out.number(static_cast<std::uint64_t>(target.method)).number(target.load_bias);
}

std::shared_ptr<GoProcess> read_process(WireReader& in, ProcessKey key, std::string& exe_path) {
  auto process = std::make_shared<GoProcess>();
  auto binary = std::make_shared<go::GoBinary>();
  process->key = key;
  exe_path = in.text();
  binary->go_version = in.text();
  binary->build_id = in.text();
  binary->method = read_method(in);
  binary->is_position_independent = in.number() != 0;
  binary->text = {in.number(), 0};
  binary->text.end = in.number();
  const bool has_target = in.number() != 0;
  go::HeapTarget target;
  target.method = read_method(in);
  target.load_bias = in.number();
  if (has_target) process->target = target;
  process->binary = std::move(binary);
  return process;
}

void open_executable(GoProcess& process, int exe, const std::string& path) {
  process.exe = std::make_shared<const ExeHandle>(UniqueFd(::dup(exe)), FileIdentity{}, path,
                                                  std::make_shared<ExeHandle::Unused>());
}

std::string encode_end(const CaptureFinished& finished, std::uint64_t string_count) {
  WireWriter out;
  out.number(finished.result == CaptureResult::kOk).text(to_string(finished.reason));
  out.text(printable(finished.detail, kMaxDetail)).number(string_count);
  if (finished.result != CaptureResult::kOk) return out.take();
  out.number(finished.live_bytes.value_or(0));
  ProfileFacts facts;
  facts.inuse_bytes = finished.inuse_bytes.value_or(0);
  facts.sample_count = finished.sample_count.value_or(0);
  facts.of = finished.of;
  facts.components = finished.components;
  facts.sites = finished.sites;
  write_facts(out, facts);
  return out.take();
}

Result<CaptureFinished> decode_end(std::string_view answer, ProcessKey process, MonotonicTime taken_at,
                                   CaptureFinished begun, std::uint64_t& string_count) {
  WireReader in(answer);
  const bool is_ok = in.number() == 1;
  CaptureReason reason = CaptureReason::kNone;
  const std::string_view name = in.text();
  const bool is_known = name.empty() || read_name(name, reason);
  std::string detail = printable(in.text(), kMaxDetail);
  string_count = in.number();
  if (!is_ok) {
    if (!in.is_complete() || !is_known) return fail(ErrorCode::kInvalid, "the reader answered something else");
    return not_taken(std::move(begun), taken_at, {reason, std::move(detail)});
  }
  const std::uint64_t live_bytes = in.number();
  ProfileFacts facts = read_facts(in);
  if (!in.is_complete() || !is_known) return fail(ErrorCode::kInvalid, "the reader answered something else");
  TakenHeap heap{process, facts.of, facts.inuse_bytes, live_bytes, facts.sample_count, reason, std::move(detail)};
  heap.components = std::move(facts.components);
  heap.sites = std::move(facts.sites);
  return taken(std::move(begun), taken_at, std::move(heap));
}

}  // namespace oomw
