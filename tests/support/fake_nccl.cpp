// A stand-in for libnccl.so.2, for tests only: it knows its version, 2.21.5.

extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = 22105;
  return 0;
}
