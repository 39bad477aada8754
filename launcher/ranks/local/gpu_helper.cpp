#include "launcher/ranks/local/gpu_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/json.h"
#include "core/log.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/ranks/local/nvml.h"

namespace slipway::launcher {
namespace {

constexpr auto kEndPatience = std::chrono::milliseconds(20);  // when nothing blocks it
constexpr auto kNamesPatience = std::chrono::seconds(5);

/// False when nothing came.
bool AwaitReadable(int fd, std::chrono::nanoseconds limit) {
  pollfd watch{fd, POLLIN, 0};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(std::max(limit, std::chrono::nanoseconds(0)));
  return ::poll(&watch, 1, static_cast<int>(millis.count())) > 0;
}

/// The loader looks for NVML in dozens of folders. /dev/dxg: Linux in Windows.
bool MayHaveNvidiaGpus() {
  return NamesDevices(Environment::Inherited()) || Exists("/dev/nvidiactl") || Exists("/dev/dxg");
}

}  // namespace

/// It inherits no stream: one that is blocked would keep a pipe open whose reader waits for the end.
GpuHelperProcess::GpuHelperProcess(const std::vector<std::string>& arguments, int input, int output) {
  const auto nowhere = OpenFile("/dev/null", O_WRONLY);
  SpawnOptions options;
  options.argv = {HelperProgram("slipway-gpus")};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.working_directory = "/";
  options.stdin_fd = input;
  options.stdout_fd = output;
  options.stderr_fd = log::IsOn(log::Level::kInfo) ? -1 : nowhere.get();
  process_ = ChildProcess::Spawn(options);
}

GpuHelperProcess::~GpuHelperProcess() {
  if (process_->TryWait()) return;
  process_->Signal(SIGKILL);
  if (!process_->WaitFor(kEndPatience)) process_->Release();
}

std::optional<ExitStatus> GpuHelperProcess::Status() { return process_->WaitFor(kEndPatience); }

GpuHelper::GpuHelper(const std::vector<std::string>& arguments) {
  auto input = MakePipe();
  auto output = MakePipe();
  process_.emplace(arguments, input.read.get(), output.write.get());
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  CheckErrno(::fcntl(output_.get(), F_SETFL, O_NONBLOCK), "cannot set up a pipe");
}

void GpuHelper::ReadAll() {
  char piece[4096];
  while (true) {
    const auto count = ::read(output_.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    at_end_ = count <= 0;
    if (at_end_) return;
    lines_.Add({piece, static_cast<std::size_t>(count)});
  }
}

std::optional<std::string> GpuHelper::TakeAnswer() {
  if (!at_end_) ReadAll();
  std::optional<std::string> last;
  std::string_view line;
  while (lines_.Next(line)) last = line;
  return last;
}

std::optional<std::string> GpuHelper::Finish(std::chrono::nanoseconds limit) {
  input_.Reset();
  const auto deadline = SystemClock().Steady() + limit;
  auto last = TakeAnswer();
  while (!at_end_ && AwaitReadable(output_.get(), deadline - SystemClock().Steady())) {
    if (auto answer = TakeAnswer()) last = std::move(answer);
  }
  return last;
}

std::vector<std::string> NamesOfGpus() try {
  if (!MayHaveNvidiaGpus() || !HasNvml()) return {};
  const auto names = Json::parse(GpuHelper({"names"}).Finish(kNamesPatience).value_or("[]"));
  return names.get<std::vector<std::string>>();
} catch (const std::exception& error) {
  log::Info("the names of GPUs are not known: {}", error.what());
  return {};
}

}  // namespace slipway::launcher
