/* Makes the disk of a store under test slow, and its clock wrong.

   Preload this library and set KNOBS to the path of a file of two 64-bit numbers: the duration of each flush in
   microseconds, and how far the clock is ahead in milliseconds. The file may change at any time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *knobs;

__attribute__((constructor)) static void find_knobs(void) {
  const char *path = getenv("KNOBS");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *found = file < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) knobs = found;
}

static void flush_slowly(void) {
  if (knobs && knobs[0] > 0) {
    struct timespec nap = {knobs[0] / 1000000, knobs[0] % 1000000 * 1000};
    nanosleep(&nap, NULL);
  }
}

int fsync(int file) {
  flush_slowly();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  flush_slowly();
  return (int)syscall(SYS_fdatasync, file);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec real;
  if (clock_gettime(CLOCK_REALTIME, &real) < 0) return -1;
  int64_t micros = real.tv_sec * INT64_C(1000000) + real.tv_nsec / 1000 + (knobs ? knobs[1] * 1000 : 0);
  now->tv_sec = micros / 1000000;
  now->tv_usec = micros % 1000000;
  return 0;
}
