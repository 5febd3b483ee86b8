// SPDX-License-Identifier: Apache-2.0
// For LD_PRELOAD: the wall clock of one process is as many seconds ahead as the first 8 bytes of the file
// OOMW_CLOCK_SHIFT say, at any time. The machine's own clock is not ours to set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* shift;
static int (*real)(clockid_t, struct timespec*);

// Once, at the start: a process may give up its right to open files.
__attribute__((constructor)) static void map_shift(void) {
  *(void**)&real = dlsym(RTLD_NEXT, "clock_gettime");
  const char* path = getenv("OOMW_CLOCK_SHIFT");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) shift = at;
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  if (real == NULL) map_shift();
  const int result = real(clock, now);
  if (result == 0 && shift != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += *shift;
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
