/* Simulates a full disk. Preload this library into every process of a server under test.

   While the file at FULL_DISK_SWITCH exists, writes to regular files below FULL_DISK fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int full(int file) {
  const char *below = getenv("FULL_DISK"), *on = getenv("FULL_DISK_SWITCH");
  struct stat about;
  char link[64], path[PATH_MAX];
  if (!below || !on || access(on, F_OK) || fstat(file, &about) || !S_ISREG(about.st_mode)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return !strncmp(path, below, strlen(below));
}

ssize_t write(int file, const void *data, size_t count) {
  if (full(file)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, file, data, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  if (full(file)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_writev, file, parts, count);
}
