// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "incident/incident.h"

namespace oomw {

// Why the kernel ran out, as far as this one incident's evidence supports it; nullopt otherwise: a guess
// would be wrong evidence. A pure function of the incident; judged again when evidence comes in later.
//
// All rows are judged. The first rank that has one wins, in it the most confident, then the order here: a
// row of an earlier rank needs at least half of the memory for itself, and what is left could not have
// brought about the kill alone. The others are kept in `also`: a leak below an ancestor's limit is both.
//
//   rank cause               what it takes                                                      confidence
//   0    node                the node was out of memory, not a cgroup                            0.9
//   0    pod_limit           the limit that was hit is the pod's, and not counted as one container's
//                            (model/limit_scope.h); the victim's container held less than 0.8 of it 0.9
//                            ... and how much each of them held is not known                     0.6
//   0    ancestor_limit      the limit that was hit is another one above the container           0.9
//   1    page_cache_or_tmpfs shmem is half of the usage                                          0.8
//                            page cache that the victims' memory leaves room for is half of it   0.7
//   2    sibling             other processes of the container held more than the victims; not
//                            where none had a lower oom_score_adj, so none was larger, and they
//                            held half as much each or more: workers that are alike              0.6
//   3    off_heap            a whole profile of the end explains less than half of what the
//                            victims held, and the heap held no more at any reading              0.7
//   4    off_heap            what the victim held beside its heap is more than what is live in
//                            it, with that more than the heap since the last collection, and a
//                            quarter of the limit                                                0.55
//   4    leak                see below; beside a spike of 0.8 at most 0.75                      0.35 - 0.85
//   4    spike               half of the limit was gained within 10 s                            0.8
//                            ... at a pace that is not twice that of the time before, or to
//                            what it had used before but for a quarter of the limit              0.45
//   4    undersized          see below                                                           0.5 - 0.7
//
// leak, the strongest that holds. All need 10 s of growth: what fills the limit faster is a spike.
//   The detector of trends/leak_detector.h calls sites, or the whole heap, a leak, and of what the whole live
//     heap gained they explain
//     half, and a quarter of the limit                                                           0.85
//     a quarter, and a tenth of the limit                                                        0.65
//     less: it leaks, but that did not fill the limit                                            0.35
//   Too few collections for the detector (a heap that only grows is collected at each doubling), but three or
//     more, with a live heap that rises in four of five of all their pairs, by a tenth of the limit, and never
//     came back by half of its range; a quarter of the gain in the second half of the time, and also in that of
//     the run where the container's memory stood still in that; the last of them in the last two thirds of the
//     time, and the memory went on at half of its pace, or more, where it was long ago (a tenth of the time).
//     Three in order by chance: 1 in 6; but that the memory ran out is certain here, which the detector of a
//     living process cannot say.
//     it is a quarter of the limit, and chance does that once in 20 times at most (Kendall)       0.75
//     it is that, and one site made half of it, or the memory curve below agrees                 0.65
//     neither                                                                                    0.5
//   The memory that is never given back (MemoryCurve::floor_from) rose in each quarter of the run after its
//     first eighth, by more than half of an even share (of a program that is not Go's, in three of them: malloc
//     fills what a burst left behind), in all by a quarter of the limit; by half of it
//     where it is a Go program, whose heap grows until a collection; not where its live heap is known to
//     be flat, nor where it did not go on after the last collection, nor where it never collects. Which code
//     does it is not known.                                                                      0.5
//
//   None of them, 0.35 at most, where what filled the limit did not last:
//     the median pace of the live heap (median_pace() at even steps) explains less than 0.6 of what it gained;
//     the last collection was a third of the time ago, and the memory rose at less than half of its pace since;
//     the median pace of the memory, after the first quarter of the run, explains less than a quarter of the limit,
//       or, where no Go heap is known, it stayed within a tenth of the limit for half of that time
//       (not asked of a memory curve of less than half of the time, nor where the live heap, collected to the end,
//       gained half of the limit at a pace that explains 0.8 of it: below a limit of Go's own memory stands still).
//
// undersized, the strongest that holds:
//   Over the second half of the run half of the time was spent above 80 % of the limit, and it did not grow by
//     10 % of the limit, or it is a Go program whose live heap has no trend (five readings or more, of whose
//     pairs three of ten fall); where that half is shorter than 10 s                             0.5
//     10 s and longer                                                                            0.6
//     ... and it did not grow, and nor did the live heap                                         0.7
//   ... or it grew, at less than half of its pace until its last collection, a third of the time ago or
//     more; or half of the time was spent above 70 %, and the growth did not last (as above)      0.5
//   The live heap of a Go program is flat, or has no trend, and what it grows to before it is collected (GOGC,
//     GOMEMLIMIT), with what the process holds beside it, is more than the limit                 0.65
//     ... but no collection was seen in that time: growth since cannot be told from garbage; or it has no trend
//     in the second half of the time only; or it came at once, not at its median pace            0.5
//   It had come to 80 % of the limit before and gone back by 15 % of it, and its live heap, if it is known,
//     does not rise                                                                              0.5
//   A Go program's last collection was a third of the time ago, or more, and it has no GOMEMLIMIT below the
//     limit: what it died of may be garbage                                                      0.45
//   GOGC=off, and no GOMEMLIMIT below the limit                                                  0.7
//
// 80 % is where the watermarks that capture begin, a tenth is what leak_detector.h calls material, half and a
// quarter are plain majorities; which rules there are was learned from the runs of tests/corpus, not their figures.
[[nodiscard]] std::optional<IncidentVerdict> judge_incident(const Incident& incident);
// The same into the incident, with a note where there is none.
void conclude(Incident& incident);

}  // namespace oomw
