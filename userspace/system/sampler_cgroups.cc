// SPDX-License-Identifier: Apache-2.0
// The cgroups on this node, and their owners.
#include <array>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "system/sampler_impl.h"

namespace oomw {
namespace {

// Runtimes write config.json before they make the cgroup, docker and podman some files after it.
constexpr std::array<Nanoseconds, 3> kBundleRetries = {std::chrono::milliseconds(100), std::chrono::seconds(1),
                                                       std::chrono::seconds(5)};

constexpr std::size_t kContainerIdLength = 64;

constexpr std::array<Nanoseconds, 2> kFirstReadings = {std::chrono::milliseconds(50), std::chrono::milliseconds(500)};

}  // namespace

// False if the cgroup is tracked already with its path, or if there are too many.
bool Sampler::Impl::track(CgroupId id, CgroupId parent, std::string path) {
  const auto found = tracked.find(id);
  if (found == tracked.end()) {
    if (tracked.size() >= CgroupFs::kMaxCgroups) {
      ++lost[LostStage::kTrackedCgroups];
      return false;
    }
    tracked.emplace(id, Tracked{parent, std::move(path), {}, false, false, nullptr});
    slow.add(id);
    return true;
  }
  if (!found->second.path.empty() || path.empty()) return false;
  found->second.path = std::move(path);
  return true;
}

void Sampler::Impl::discover(const CgroupFs::Entry& entry) {
  if (!track(entry.id, entry.parent, entry.path)) return;
  deliver(CgroupCreated{clock.now(), entry.id, entry.parent, entry.path, true, !is_started});
  identify(entry.id);
  sample(entry.id, false);
  if (is_started) read_soon(entry.id);
}

// A limit is written moments after the mkdir, and everything is measured against it.
void Sampler::Impl::read_soon(CgroupId id) {
  for (const Nanoseconds delay : kFirstReadings) (void)due.push(delay, [this, id] { sample(id, false); });
}

// Also called for cgroups that discover() itself delivered: they are tracked already.
void Sampler::Impl::on_created(const CgroupCreated& created) {
  if (!created.cgroup || tracked.contains(created.cgroup)) return;
  std::string path = resolve_path(created);
  const bool is_news = !created.path_complete && !path.empty();
  if (!track(created.cgroup, created.parent, path)) return;
  if (is_news) deliver(CgroupCreated{created.time, created.cgroup, created.parent, path, true, created.existed});
  identify(created.cgroup);
  read_soon(created.cgroup);
}

// A path too long for the kernel's event is searched for below its parent; "" if either is gone.
std::string Sampler::Impl::resolve_path(const CgroupCreated& created) const {
  if (created.path_complete) return created.path;
  const auto parent = tracked.find(created.parent);
  if (parent == tracked.end() || parent->second.path.empty()) return {};
  return cgroups.find_child(parent->second.path, created.cgroup).value_or("");
}

// Its entries in `slow` and `fast` are removed at their next turn.
void Sampler::Impl::drop(CgroupId id) {
  const auto found = tracked.find(id);
  if (found == tracked.end()) return;
  if (found->second.in_fast) --fast_count;
  if (found->second.idle) --idle_count;
  const auto home = homes_of_ids.find(found->second.container_id);
  if (home != homes_of_ids.end() && home->second == found->second.path) homes_of_ids.erase(home);
  tracked.erase(found);
}

// The sampler itself found it gone: the kernel's event was lost, is on its way, or there is no program.
void Sampler::Impl::forget_vanished(CgroupId id) {
  if (!tracked.contains(id)) return;
  drop(id);
  deliver(CgroupRemoved{clock.now(), id});
}

// A runtime chooses an id at random, so a second cgroup with it is somebody's directory of that name. The first one
// keeps the id as long as it exists. False: it does, and this is another.
bool Sampler::Impl::claim(CgroupId id, const std::string& path, const std::string& container_id) {
  if (container_id.size() != kContainerIdLength) return true;  // lxc's names are chosen
  const auto [home, is_new] = homes_of_ids.try_emplace(container_id, path);
  if (!is_new && home->second != path) {
    if (cgroups.id_of(home->second).has_value()) return false;
    home->second = path;
  }
  tracked.at(id).container_id = container_id;
  return true;
}

// Cgroups inside a container (init.scope, crun's "container") already have its identity through their
// ancestor: identifying them again would read its bundle as often as the workload creates cgroups.
void Sampler::Impl::identify(CgroupId id) {
  const std::string path = path_of(id);
  auto identity = identity_from_path(path, config.nested);
  if (!identity || identity == identity_from_path(parent_path(path), config.nested)) return;
  if (!claim(id, path, identity->id)) {
    ++lost[LostStage::kClaimedIds];
    return;
  }
  deliver(ContainerIdentified{clock.now(), id, *identity, false});
  if (!identity->id.empty() && identity->runtime != "lxc") try_bundle(id, *identity, 0);
}

void Sampler::Impl::try_bundle(CgroupId id, const ContainerIdentity& from_path, std::size_t attempt) {
  if (!tracked.contains(id)) return;
  // They lie where a runtime keeps its state, which may be a file system that does not answer.
  bundles.ask(from_path.id, [this, dirs = config.bundles, id, from_path, attempt]() -> SlowReadings::Tell {
    auto named = read_bundle(dirs, from_path);
    return [=, this, found = named ? std::optional(std::move(*named)) : std::nullopt] {
      take_bundle(id, from_path, attempt, found);
    };
  });
}

void Sampler::Impl::take_bundle(CgroupId id, const ContainerIdentity& from_path, std::size_t attempt,
                                const std::optional<ContainerIdentity>& named) {
  if (!tracked.contains(id)) return;
  if (named) return deliver(ContainerIdentified{clock.now(), id, *named, true});
  if (attempt >= kBundleRetries.size()) return;
  due.push(kBundleRetries[attempt], [this, id, from_path, attempt] { try_bundle(id, from_path, attempt + 1); });
}

void Sampler::Impl::rescan() {
  bool is_cut = false;
  const auto entries = cgroups.walk(&is_cut);
  if (!entries.has_value()) return;
  std::unordered_set<CgroupId> present;
  for (const CgroupFs::Entry& entry : *entries) {
    present.insert(entry.id);
    discover(entry);
  }
  if (is_cut) {
    ++lost[LostStage::kCgroupWalkCut];
    return;  // the list is incomplete: absence from it means nothing
  }
  std::vector<CgroupId> gone;
  for (const auto& [id, state] : tracked) {
    if (!present.contains(id)) gone.push_back(id);
  }
  for (const CgroupId id : gone) forget_vanished(id);
}

// Without programs there are no exec events either, so this reads the processes where a kill is near, while they live.
void Sampler::Impl::rescan_and_read() {
  constexpr std::size_t kMaxProcesses = 64;
  rescan();
  std::vector<CgroupId> near;
  for (const auto& [id, state] : tracked) {
    if (state.is_fast) near.push_back(id);
  }
  for (const CgroupId id : near) read_processes(id, kMaxProcesses);
}

std::string Sampler::Impl::path_of(CgroupId id) const {
  const auto found = tracked.find(id);
  return found == tracked.end() ? std::string() : found->second.path;
}

}  // namespace oomw
