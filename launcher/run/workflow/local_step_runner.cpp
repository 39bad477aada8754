#include "launcher/run/workflow/local_step_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/sysinfo.h>

#include <algorithm>

#include "core/files.h"
#include "core/memory_left.h"
#include "core/share_out.h"

namespace slipway::launcher {
namespace {

int CpusOf(const StepResources& resources) { return resources.cpus.value_or(1); }

/// Also before the loop has seen the end.
bool HasExited(const ChildProcess& process) {
  pollfd watch{process.pidfd(), POLLIN, 0};
  return ::poll(&watch, 1, 0) > 0;
}

Bytes MemoryOfThisMachine() {
  struct sysinfo info {};
  CheckErrno(::sysinfo(&info), "cannot look at the memory of this machine");
  return {std::uint64_t{info.totalram} * info.mem_unit};
}

}  // namespace

MachineResources ResourcesOfThisMachine() {
  return {static_cast<int>(UsableProcessors()), DevicesOfThisNode(), MemoryLeft(), MemoryOfThisMachine()};
}

std::string WhyNeverOn(const MachineResources& machine, const StepResources& resources) {
  const int gpus = resources.gpus.value_or(0);
  if (gpus <= machine.devices.count()) return {};
  return fmt::format("it needs {} GPUs, and this machine has {}", gpus, Describe(machine.devices));
}

std::string WhyAloneOn(const MachineResources& machine, const StepResources& resources) {
  if (CpusOf(resources) > machine.cpus) {
    return fmt::format("it asks for {} cores, and this machine has {}", CpusOf(resources), machine.cpus);
  }
  if (machine.all_memory.count == 0 || resources.memory.count <= machine.all_memory.count) return {};
  return fmt::format("it asks for {} of memory, and this machine has {}", FormatBytes(resources.memory),
                     FormatBytes(machine.all_memory));
}

LocalStepRunner::LocalStepRunner(EventLoop& loop, MachineResources machine)
    : loop_(loop),
      machine_(std::move(machine)),
      free_cpus_(machine_.cpus),
      free_memory_(machine_.memory.count),
      free_devices_(machine_.devices.names()) {}

LocalStepRunner::~LocalStepRunner() {
  for (auto& [step, running] : running_) loop_.Forget(running.process.pidfd());
}

bool LocalStepRunner::Fits(const StepResources& resources) const {
  const auto gpus = static_cast<std::size_t>(resources.gpus.value_or(0));
  if (gpus > free_devices_.size()) return false;
  if (running_.empty()) return true;
  return CpusOf(resources) <= free_cpus_ && resources.memory.count <= free_memory_;
}

std::string LocalStepRunner::WhyNever(const StepResources& resources) const { return WhyNeverOn(machine_, resources); }

GpuHold LocalStepRunner::HoldGpus(int count, const std::string& holder) const {
  return HoldWhatIsFree(machine_.devices.Called(free_devices_), count, holder);
}

/// Those of them that are free.
NodeDevices LocalStepRunner::TakeDevices(const std::vector<std::string>& names) {
  std::vector<std::string> taken;
  std::erase_if(free_devices_, [&](const std::string& device) {
    const bool is_named = std::ranges::find(names, device) != names.end();
    if (is_named) taken.push_back(device);
    return is_named;
  });
  return machine_.devices.Called(taken);
}

ProcessIdentity LocalStepRunner::Start(const StepLaunch& launch, GpuHold gpus) {
  const auto log = OpenFile(launch.log, O_WRONLY | O_CREAT | O_APPEND);
  SpawnOptions options;
  options.argv = launch.argv;
  options.working_directory = launch.directory;
  options.stdout_fd = log.get();
  options.stderr_fd = log.get();
  options.environment = launch.environment;
  const auto devices = TakeDevices(launch.devices.value_or(gpus.devices().names()));
  for (const auto& [name, value] : VariablesFor(devices)) options.environment->Set(name, value);
  auto names = devices.names();
  if (launch.is_run) gpus.HandTo(options);
  try {
    auto process = ChildProcess::Spawn(options);
    if (launch.is_run) gpus = {};  // its locks end with it
    const auto identity = IdentityOf(process.pid());
    Running begun{std::move(process), launch.resources, names, std::move(gpus), launch.grace, launch.signal_manager};
    auto& running = running_.emplace(launch.step, std::move(begun)).first->second;
    free_cpus_ -= CpusOf(launch.resources);
    free_memory_ -= std::min(free_memory_, launch.resources.memory.count);
    loop_.OnReadable(running.process.pidfd(), [this, step = launch.step] { Look(step); });
    if (launch.time_limit) {
      running.limit = loop_.After(std::chrono::duration_cast<std::chrono::nanoseconds>(*launch.time_limit),
                                  [this, step = launch.step] {
                                    running_.at(step).timed_out = true;
                                    running_.at(step).limit.reset();
                                    End(step);
                                  });
    }
    return identity;
  } catch (...) {
    free_devices_.insert(free_devices_.end(), names.begin(), names.end());
    throw;
  }
}

void LocalStepRunner::Stop(StepIndex step) {
  const auto found = running_.find(step);
  if (found == running_.end()) return;
  found->second.stopped = found->second.stopped || !HasExited(found->second.process);
  End(step);
}

void LocalStepRunner::End(StepIndex step) {
  auto& running = running_.at(step);
  if (running.kill) return;
  Signal(running, SIGTERM);
  running.kill = loop_.After(running.grace, [this, step] {
    running_.at(step).kill.reset();
    Signal(running_.at(step), SIGKILL);
  });
}

void LocalStepRunner::KillAll() { SignalAll(SIGKILL); }

void LocalStepRunner::SignalAll(int signal) {
  for (auto& [step, running] : running_) Signal(running, signal);
}

/// Who waits for a run ends with it.
void LocalStepRunner::Signal(const Running& running, int signal) {
  const bool is_told = running.signal_manager && running.signal_manager(signal);
  if (!is_told || signal == SIGKILL) running.process.Signal(signal);
}

void LocalStepRunner::Look(StepIndex step) {
  const auto found = running_.find(step);
  if (found == running_.end()) return;
  auto& running = found->second;
  running.process.Signal(SIGKILL);  // what the program has left in its group, whose number its leader still holds
  const auto status = running.process.TryWait();
  if (!status) return;
  loop_.Forget(running.process.pidfd());
  for (const auto timer : {running.limit, running.kill}) {
    if (timer) loop_.Cancel(*timer);
  }
  free_cpus_ += CpusOf(running.resources);
  free_memory_ = std::min(machine_.memory.count, free_memory_ + running.resources.memory.count);
  free_devices_.insert(free_devices_.end(), running.devices.begin(), running.devices.end());
  const StepEnd end{step, *status, running.timed_out, running.stopped};
  running_.erase(found);
  on_end(end);
}

}  // namespace slipway::launcher
