// libslipway_mpi_check: a check of MPI_Init, loaded into the programs of several ranks before all others (LD_PRELOAD).
// It ends a rank that its MPI sees as its only one although several were started. Otherwise each rank would train a
// model of its own, and the run would succeed.
//
// It is loaded into foreign programs. So it uses no C++ library, no memory of its own, and nothing of mpi.h, whose
// types differ between MPIs. Functions that a program gets by dlsym on MPI's library itself, as ctypes does, are not
// checked.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "runtime/group/launcher_variables.h"

namespace {

using namespace slipway::runtime;

constexpr int kRefused = 3;                // as for everything that is wrong around a program
constexpr int kLongestVersion = 8192 + 1;  // of MPICH; the longest that any MPI asks for
constexpr int kWorldOfMpich = 0x44000000;  // MPI_COMM_WORLD in its binary interface
constexpr char kWorldOfOpenMpi[] = "ompi_mpi_comm_world";
constexpr char kSwitch[] = "SLIPWAY_MPI_CHECK";

/// The loaded object that `address` lies in; null for the program itself.
void* ObjectOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

/// What the caller would have called without us. A module of Python sees only its own libraries.
void* Behind(const char* name, const void* own, const void* caller) {
  if (void* object = ObjectOf(caller)) {
    void* found = dlsym(object, name);
    if (found != nullptr && found != own) return found;
  }
  return dlsym(RTLD_NEXT, name);
}

template <class Function>
Function* In(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// The first words: "Open MPI v4.1.4", "MPICH Version: 4.0.2".
void ReadVersion(void* library, char* version) {
  int length = 0;
  version[0] = '\0';
  if (auto* ask = In<int(char*, int*)>(library, "PMPI_Get_library_version")) ask(version, &length);
  version[strcspn(version, ",\n")] = '\0';
  for (char* tab = strchr(version, '\t'); tab != nullptr; tab = strchr(tab, '\t')) *tab = ' ';
}

bool HasInterfaceOfMpich(const char* version) {
  for (const char* name : {"MPICH", "Intel(R) MPI", "MVAPICH"}) {
    if (strstr(version, name) != nullptr) return true;
  }
  return false;
}

/// Null where the library is no Open MPI. A program may hold the object itself, by a copy relocation: then the library
/// uses that one.
void* WorldOfOpenMpi(void* library) {
  void* of_library = dlsym(library, kWorldOfOpenMpi);
  void* of_program = of_library != nullptr ? dlsym(RTLD_DEFAULT, kWorldOfOpenMpi) : nullptr;
  return of_program != nullptr ? of_program : of_library;
}

/// 0 for an MPI that we do not know.
int SizeOfWorld(void* library, const char* version) {
  int size = 0;
  void* ask = dlsym(library, "PMPI_Comm_size");
  if (ask == nullptr) return 0;
  if (void* world = WorldOfOpenMpi(library)) {
    reinterpret_cast<int (*)(void*, int*)>(ask)(world, &size);
  } else if (HasInterfaceOfMpich(version)) {
    reinterpret_cast<int (*)(int, int*)>(ask)(kWorldOfMpich, &size);
  }
  return size;
}

[[noreturn]] void Refuse(const StartedRanks& started, const char* version, bool open_mpi) {
  const bool by_srun = started.by.launcher == RankLauncher::kSlurm;
  const char* key = by_srun ? "launch.slurm.start" : "launch.mpi";
  const char* value = by_srun ? (open_mpi ? "pmix" : "pmi2") : (open_mpi ? "openmpi" : "mpich");
  fprintf(stderr,
          "slipway: %d ranks were started (%s), but %s, which this program uses, sees one: every rank would run alone. "
          "Set %s: %s. For programs that are meant to run alone: command: [env, %s=0, ...]\n",
          started.ranks, started.by.name, version, key, value, kSwitch);
  _exit(kRefused);
}

bool IsOff() {
  const char* value = getenv(kSwitch);
  return value != nullptr && strcmp(value, "0") == 0;
}

/// `init`: the function that has started MPI.
void Check(const void* init) {
  void* library = IsOff() ? nullptr : ObjectOf(init);
  if (library == nullptr) return;
  char version[kLongestVersion];
  ReadVersion(library, version);
  if (SizeOfWorld(library, version) != 1) return;
  const bool open_mpi = WorldOfOpenMpi(library) != nullptr;
  const StartedRanks started = FindStartedRanks(open_mpi);
  if (started.ranks > 1) Refuse(started, version, open_mpi);
}

using Init = int(int*, char***);
using InitThread = int(int*, char***, int, int*);

template <class Function, class... Arguments>
int CallAndCheck(void* behind, Arguments... arguments) {
  constexpr int kNoMpi = 16;  // MPI_ERR_OTHER of most
  if (behind == nullptr) return kNoMpi;
  const int status = reinterpret_cast<Function*>(behind)(arguments...);
  if (status == 0) Check(behind);
  return status;
}

}  // namespace

#define SLIPWAY_IN_FRONT __attribute__((visibility("default")))

extern "C" {

// C programs call the first two; Fortran's interface, and tools that stand in front of MPI themselves, the others.

SLIPWAY_IN_FRONT int MPI_Init(int* argc, char*** argv) {
  void* behind = Behind("MPI_Init", reinterpret_cast<void*>(&MPI_Init), __builtin_return_address(0));
  return CallAndCheck<Init>(behind, argc, argv);
}

SLIPWAY_IN_FRONT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  void* behind = Behind("MPI_Init_thread", reinterpret_cast<void*>(&MPI_Init_thread), __builtin_return_address(0));
  return CallAndCheck<InitThread>(behind, argc, argv, required, provided);
}

SLIPWAY_IN_FRONT int PMPI_Init(int* argc, char*** argv) {
  void* behind = Behind("PMPI_Init", reinterpret_cast<void*>(&PMPI_Init), __builtin_return_address(0));
  return CallAndCheck<Init>(behind, argc, argv);
}

SLIPWAY_IN_FRONT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  void* behind = Behind("PMPI_Init_thread", reinterpret_cast<void*>(&PMPI_Init_thread), __builtin_return_address(0));
  return CallAndCheck<InitThread>(behind, argc, argv, required, provided);
}

}  // extern "C"
