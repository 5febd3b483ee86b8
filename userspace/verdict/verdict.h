// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "facts/operation_patterns.h"
#include "incident/incident.h"

namespace oomw {

// Why the memory ran out, as far as this incident's own evidence supports it; nullopt otherwise, because a guess
// would be wrong evidence. A pure function of the incident; judged again when evidence comes in later. How the memory
// of a container came to the limit that was thrashing before the kill (leak, spike, undersized) is judged as if it had
// been killed when that began, if that explains it: thrashing.h.
//
// All rows are judged. The first rank with a finding wins; within a rank the highest confidence wins, then
// the order here. A row of an earlier rank needs at least half of the memory for itself, so the rest alone
// could not have caused the kill. The other findings go to `also`: a leak below an ancestor's limit is both.
//
//   rank cause               required evidence                                                  confidence
//   0    node                the node was out of memory, not a cgroup                            0.9
//   0    pod_limit           the limit that was hit is the pod's, and does not count as one container's
//                            (model/limit_scope.h); the victim's container held less than 0.8 of it 0.9
//                            ... and the share of each container is not known                    0.6
//   0    ancestor_limit      the limit that was hit is another one above the container           0.9
//   1    page_cache_or_tmpfs shmem is half of the usage                                          0.8
//                            page cache is half of it, and fits beside the victims' memory       0.7
//   2    sibling             other processes of the container held more than the victims; not if
//                            they are workers alike: none had a lower oom_score_adj, so none was
//                            larger, and on average each held half as much or more               0.6
//   3    off_heap            a whole profile at the end explains less than half of what the
//                            victims held, and the heap did not hold more at any reading; one from before the kill
//                            left half of it beside the heap then                                0.7
//   3    allocator_retention  malloc held 0.3 of the limit or more in free blocks that were in memory, as
//                            read in the 30 s before the kill, and more than was in use in it     0.7
//   3    does_not_fit        the maximum heap of the runtime + the memory beside its heap at the last reading is more
//                            than the limit, and the heap is the largest part (memory_parts.h)    0.8
//   3    direct_buffers      more than the heap, and half of the memory                           0.8
//   3    thread_stacks, metaspace    more than the heap, and a quarter of the memory: malloc and the kernel hold
//                            more for each of them                                                0.6
//   3    thread_stacks       of a program that is not Java: half of the memory                    0.8
//   4    off_heap            the victim's memory beside its heap, when that was read, is larger than the live
//                            heap; both together are larger than what was allocated since the last
//                            collection; it is a quarter of the limit or more                    0.55
//   4    leak                see below; at most 0.75 beside a spike of 0.8                      0.35 - 0.85
//   4    spike               half of the limit was gained within 10 s                            0.8
//                            ... at no more than twice the pace before, or ending less than a
//                            quarter of the limit above what was used before                     0.45
//   4    undersized          see below                                                           0.45 - 0.7
//
// leak, the strongest rule that holds. All need 10 s of growth: faster growth to the limit is a spike.
//   The detector of trends/leak_detector.h reports sites, or the whole heap, as a leak. Of the whole live
//     heap's gain they explain
//     half, and a quarter of the limit                                                           0.85
//     a quarter, and a tenth of the limit                                                        0.65
//     less: it leaks, but that did not fill the limit                                            0.35
//   There were too few collections for the detector (a heap that only grows is collected at each doubling), but
//     three or more, and the live heap rose: four of five of all pairs of readings rise, by a tenth of the limit
//     in all, and it never came back by half of its range. A quarter of the gain came in the second half of the
//     time, and also in the second half of the run if the container's memory stood still there. The last reading
//     lies in the last two thirds of the time; if it is a tenth of the time old or more, the memory went on
//     rising at half of its earlier pace or more. Three readings rise by chance once in 6 times, but here it is
//     certain that the memory ran out, which the detector of a living process cannot know.
//     gain of a quarter of the limit, by chance once in 20 times at most (Kendall)               0.75
//     gain of a quarter, and one site made half of it, or the memory curve below agrees          0.65
//     neither, unless the detector had enough collections and saw no growth                      0.5
//   The memory that is never given back (MemoryCurve::floor_from) rose in each quarter of the run after its
//     first eighth, by more than half of an even share (a program that is not Go may skip one of the first two:
//     malloc first fills what a burst left behind; or the third, if one name made most of what the contents gained
//     from a reading before the last quarter to one in it; or any, if one name made most of what they gained and the
//     code that touched most of the growth first touched most of its end, too: then it had no processor or no
//     requests). In all it rose by a quarter of the limit, or by half of it in a Go program, whose heap grows until a
//     collection. Not if its live heap is known to be flat, if growth stopped after the last collection, or if Go
//     never collects. The leaking code is not known.                                             0.5
//
//   Each has 0.35 at most if the growth that filled the limit did not last, which any of these shows:
//     the median pace of the live heap (median_pace() at even steps) explains less than 0.6 of its gain;
//     the last collection was a third of the time ago, and the memory rose at less than half of its pace since;
//     the median pace of the memory, after the first quarter of the run, explains less than a quarter of the limit,
//       or, if no Go heap is known, the memory stayed within a tenth of the limit for half of that time.
//       This last test is skipped if the memory curve covers less than half of the time, or if the live heap,
//       collected to the end, gained half of the limit at a pace that explains 0.8 of it: below a memory limit of
//       Go's own the memory stands still.
//
// undersized, the strongest rule that holds:
//   In the second half of the run the memory was above 80 % of the limit for half of the time, and it did not
//     grow by 10 % of the limit, or it is a Go program whose live heap has no trend (five readings or more,
//     three of ten pairs fall); if that half is shorter than 10 s                                0.5
//     10 s and longer                                                                            0.6
//     ... and neither the memory nor the live heap grew                                          0.7
//   ... or it grew, but at less than half of its pace until its last collection, a third of the time ago or
//     more; or half of the time was spent above 70 %, and the growth did not last (as above)      0.5
//   The live heap of a Go program is flat, or has no trend, and the size it grows to before a collection (GOGC,
//     GOMEMLIMIT), plus what the process holds beside it, is more than the limit                 0.65
//     ... but no collection was seen in that time, so growth since may be garbage; or it has no trend only
//     in the second half of the time; or the growth came at once, not at its median pace; or the detector saw
//     none                                                                                       0.5
//   The memory had reached 80 % of the limit before and fallen by 15 % of it, and the live heap, if known,
//     does not rise                                                                              0.5
//   A Go program's last collection was a third of the time ago, or more, and it has no GOMEMLIMIT below the
//     limit: what filled the limit may be garbage                                                0.45
//   Not in a Go program: for three quarters of the time after its first quarter the memory stayed within 10 % of
//     the limit, at half of the limit or more, and what it took at the end filled the rest       0.45
//   GOGC=off, and no GOMEMLIMIT below the limit                                                  0.7
//
// The watermarks that trigger captures begin at 80 %, a tenth is what leak_detector.h calls material, half and a
// quarter are plain majorities. The runs of tests/corpus taught which rules there are, not their figures.
[[nodiscard]] std::optional<IncidentVerdict> judge_incident(const Incident& incident);
// Stores the verdict in the incident, or a note if there is none, and the answer.
void conclude(Incident& incident, const OperationPatterns& patterns = {});

}  // namespace oomw
