/* The smallest useful trial: reports an objective and the time at which it ends, on one line. Statically linked. */
#include <stdio.h>
#include <time.h>

int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("FoM: 1 ended: %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
  return 0;
}
