// A training program in which something goes wrong on one rank, as the first argument says. With "server" as the second
// one, it exchanges through a parameter server. It does what a good program
// does: it ends with an error as soon as a call returns one.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/slipway.h"
#include "tests/support/rank_of_launcher.h"

namespace {

constexpr int kCulprit = 2;
std::string fault;
bool with_server = false;

void Check(int status) {
  if (status == SLIPWAY_OK) return;
  std::fprintf(stderr, "program: rank %d: error %d: %s\n", slipway_rank(), status, slipway_error_message());
  std::exit(100 + status);
}

bool Culprit(const char* what) { return fault == what && slipway_rank() == kCulprit; }

void Misbehave() {
  if (Culprit("killed")) ::kill(::getpid(), SIGKILL);
  if (Culprit("stopped")) ::kill(::getpid(), SIGSTOP);
  if (Culprit("busy")) {
    while (true) ::sleep(1);
  }
  if (Culprit("leaves") || Culprit("early")) {
    Check(slipway_finalize());
    std::exit(0);
  }
  if (Culprit("other call")) Check(slipway_barrier(SLIPWAY_ALL));
  if (fault == "endless") std::ofstream("trained." + std::to_string(slipway_rank()));  // the test waits for these files
}

/// No rank has to be late for it to be found. Ranks of a busy machine may be late without a fault.
bool IsFoundAtOnce() {
  const std::string these[] = {"none", "killed", "early", "shape", "dtype", "list", "count", "rate"};
  return std::find(std::begin(these), std::end(these), fault) != std::end(these);
}

/// What rank 0 says, beside the metrics, where another one works on.
std::string FileOfRank0() { return std::string(std::getenv("SLIPWAY_METRICS")) + ".rank-0"; }

/// Until rank 0 has said that it waits, half a minute at the longest, and for longer than the limit.
void WorkOn() {
  struct stat file {};
  for (int i = 0; i < 300 && (::stat(FileOfRank0().c_str(), &file) != 0 || file.st_size == 0); ++i) ::usleep(100'000);
  ::sleep(4);
}

/// After the last exchange.
void MisbehaveAtTheEnd() {
  if (fault == "works on" && slipway_rank() == 0) {
    ::dup2(::open(FileOfRank0().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
  }
  if (Culprit("works on")) WorkOn();
  if (Culprit("stopped at the end")) ::kill(::getpid(), SIGSTOP);
}

void Register() {
  static std::vector<float> data(70000);
  static float bias = 0;
  static const std::int64_t shape[] = {Culprit("shape") ? 60000 : 70000};
  const slipway_dtype dtype = Culprit("dtype") ? SLIPWAY_INT32 : SLIPWAY_FLOAT32;
  const slipway_tensor tensors[] = {{"weight", dtype, 1, shape, data.data()},
                                    {"bias", SLIPWAY_FLOAT32, 0, nullptr, &bias}};
  Check(slipway_register("net", tensors, Culprit("list") ? 1 : 2, 0));
}

const slipway_tensor& Weight() {
  static std::vector<float> data(70000);
  static const std::int64_t shape[] = {70000};
  static const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, shape, data.data()};
  return tensor;
}

void ServerSteps() {
  Check(slipway_server_create("weights", &Weight(), 1, 0.1, 0));
  for (int step = 0; step < 10; ++step) {
    if (step == 5) Misbehave();
    if (step == 5 && Culprit("rate")) Check(slipway_server_set_rate("weights", 0.2));
    Check(slipway_server_push("weights", &Weight(), 1));
    Check(slipway_server_pull("weights"));
  }
}

void Reduce() {
  static std::vector<float> data(5000);
  Check(slipway_allreduce(data.data(), Culprit("count") ? 4000 : 5000, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL));
}

}  // namespace

int main(int argc, char** argv) {
  fault = argc > 1 ? argv[1] : "";
  with_server = argc > 2 && std::string(argv[2]) == "server";
  if (fault == "late" && slipway::test::RankOfLauncher() == kCulprit) ::sleep(100);
  const std::string stall_after = fault == "late" ? "1" : IsFoundAtOnce() ? "120" : "3";
  Check(slipway_init(("{\"resilience\": {\"stall_after_s\": " + stall_after + "}}").c_str()));
  if (with_server) {
    ServerSteps();
    Check(slipway_finalize());
    return 0;
  }
  Register();
  for (int step = 0; step < 10 || fault == "endless"; ++step) {
    if (step == 5) Misbehave();
    Check(slipway_gradients("net"));
    Reduce();
  }
  MisbehaveAtTheEnd();
  Check(slipway_finalize());
  return 0;
}
