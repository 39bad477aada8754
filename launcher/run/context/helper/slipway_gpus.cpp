/// slipway-gpus: asks NVML for the launcher (launcher/ranks/local/gpu_helper.h). The driver may block it for minutes.
///
/// slipway-gpus names                           the names of all GPUs: a list in one line of JSON
/// slipway-gpus energy-use SECONDS RUN NAME...  looks each second; a line of JSON (GpuSums) at once, one each SECONDS,
///                                              and a last one when the input ends or says anything; NAMEs as in
///                                              CUDA_VISIBLE_DEVICES; of them those that processes of RUN use
///                                              (BelongsToRun), or all where RUN is "-"
/// slipway-gpus use SECONDS RUN NAME...         the same without energy
/// Without a GPU to measure, the first line is the last one. It ends with the process that has started it, and by no
/// other signal than SIGKILL.

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "core/lines.h"
#include "launcher/ranks/local/nvml.h"
#include "launcher/run/context/gpu_meter.h"
#include "launcher/run/context/gpu_users.h"

namespace slipway::launcher {
namespace {

constexpr int kMillisBetweenLooks = 1000;
constexpr auto kBetweenSamples = std::chrono::seconds(30);  // a sample takes milliseconds of each GPU

void Print(const Json& json) {
  std::puts(json.dump().c_str());
  std::fflush(stdout);
}

void PrintNames() {
  const auto nvml = Nvml::Open();
  auto names = Json::array();
  for (const auto& gpu : nvml ? nvml->Gpus() : std::vector<Nvml::Gpu>()) names.push_back(gpu.name);
  Print(names);
}

/// What is written into it requests the end, too: a stream through an agent ends in both directions at once.
bool InputEndsIn(int millis) {
  pollfd watch{STDIN_FILENO, POLLIN, 0};
  return ::poll(&watch, 1, millis) > 0;
}

void Measure(const GpusToMeasure& gpus, int seconds_between_lines) {
  GpuMeter meter(gpus);
  Print(WriteFields(meter.Sums()));
  if (meter.empty()) return;
  auto sampled = SystemClock().Steady();
  int looks = 0;
  while (!InputEndsIn(kMillisBetweenLooks)) {
    const auto now = SystemClock().Steady();
    const bool is_due = now - sampled >= kBetweenSamples;
    is_due ? meter.Sample() : meter.Look();
    if (is_due) sampled = now;
    if (++looks % seconds_between_lines == 0) Print(WriteFields(meter.Sums()));
  }
  meter.Sample();
  Print(WriteFields(meter.Sums()));
}

int CarryOut(const std::vector<std::string>& words) {
  if (words.empty()) return 2;
  if (words[0] == "names") {
    PrintNames();
    return 0;
  }
  const auto what = FromWord<GpuMeasures>(words[0]);
  int seconds = 0;
  if (!what || words.size() < 3 || !ParseNumber(std::string_view(words[1]), seconds) || seconds < 1) return 2;
  const bool is_of_run = words[2] != kEveryRun && SeesNumbersOfDriver();
  Measure({{words.begin() + 3, words.end()}, *what, is_of_run ? words[2] : ""}, seconds);
  return 0;
}

}  // namespace
}  // namespace slipway::launcher

/// A driver that blocks it would keep it from seeing the end of its input. Slurm sends SIGTERM to all processes of a
/// job, whose ranks then still work on their last checkpoint: they are measured to their end.
int main(int argc, char** argv) try {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
  return slipway::launcher::CarryOut({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::fprintf(stderr, "slipway-gpus: %s\n", error.what());
  return 1;
}
