// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

#include <utility>

namespace oomw {

Event::Event() = default;
Event::Event(const Event& other) = default;
Event::Event(Event&& other) noexcept = default;
Event& Event::operator=(const Event& other) = default;
Event& Event::operator=(Event&& other) noexcept = default;
Event::~Event() = default;

template <typename T>
requires kIsOneOf<T, AnyEvent> Event::Event(T one) : AnyEvent(std::in_place_type<T>, std::move(one)) {}

template Event::Event(OomKill);
template Event::Event(WatermarkCrossed);
template Event::Event(ProcessExec);
template Event::Event(ProcessExit);
template Event::Event(CgroupCreated);
template Event::Event(CgroupRemoved);
template Event::Event(ReclaimSampled);
template Event::Event(EventsLost);
template Event::Event(MemorySampled);
template Event::Event(ProcessSeen);
template Event::Event(ContainerIdentified);
template Event::Event(CaptureFinished);
template Event::Event(HeapWalked);
template Event::Event(CollectorSampled);
template Event::Event(PodSeen);
template Event::Event(PodGone);
template Event::Event(PodsCurrent);
template Event::Event(TrendJudged);
template Event::Event(FilesUnplaced);
template Event::Event(HeapAnalysed);
template Event::Event(GrowthProfile);

MonotonicTime time_of(const Event& event) {
  return std::visit([](const auto& e) { return e.time; }, event);
}

}  // namespace oomw
