#include "bench/start_ranks.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::bench {
namespace {

#ifdef OPEN_MPI
constexpr const char* kLaunchers[] = {"mpirun.openmpi", "mpirun"};
#else
constexpr const char* kLaunchers[] = {"mpirun.mpich", "mpirun"};
#endif

/// What lets ranks share cores, and root start them.
std::vector<std::string> Permissions() {
#ifdef OPEN_MPI
  std::vector<std::string> words{"--oversubscribe"};
  if (::geteuid() == 0) words.push_back("--allow-run-as-root");
  return words;
#else
  return {};
#endif
}

}  // namespace

void StartRanks(const char* benchmark, int ranks, int argc, char** argv) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr) return;
  auto words = Permissions();
  words.insert(words.end(), {"-n", std::to_string(ranks), std::filesystem::read_symlink("/proc/self/exe").string()});
  words.insert(words.end(), argv + 1, argv + argc);
  for (const char* launcher : kLaunchers) {
    std::vector<const char*> line{launcher};
    for (const auto& word : words) line.push_back(word.c_str());
    line.push_back(nullptr);
    ::execvp(launcher, const_cast<char* const*>(line.data()));
  }
  std::perror((std::string(benchmark) + ": mpirun").c_str());
  std::exit(3);
}

}  // namespace slipway::bench
