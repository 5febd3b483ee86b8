// SPDX-License-Identifier: Apache-2.0
#include "captures/facts_wire.h"

#include <algorithm>
#include <bit>
#include <string>

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

}  // namespace oomw
