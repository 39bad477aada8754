#include "launcher/cli/doctor/gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/text.h"
#include "core/units.h"
#include "launcher/cli/doctor/gpu_copies.h"
#include "launcher/cli/doctor/mps.h"
#include "launcher/ranks/local/nvml.h"
#include "runtime/device/nccl.h"
#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/settings.h"

namespace slipway::launcher {
namespace {

constexpr double kSlowCopies = 3e9;                     ///< PCIe 3 with 4 lanes; 16 lanes have four times as much
constexpr std::uint64_t kLittleGpuMemory = 1ULL << 30;  ///< a context alone takes half of it
constexpr std::size_t kSharedBytes = 2u << 20;
constexpr const char* kShowGpus = "nvidia-smi shows the state of the GPUs, and who uses them";

// ---- probing

/// What a program without a framework of its own finds.
void LookForNccl(const runtime::Driver& driver, GpuExchangeFacts& facts) try {
  facts.names_nccl = !Environment::Inherited().Get("SLIPWAY_NCCL").value_or("").empty();
  facts.nccl = runtime::Nccl::Of(driver).version();
} catch (const runtime::NoNccl& error) {
  facts.no_nccl = error.reason();
}

/// By UUID: NVML numbers GPUs by their place on the bus, CUDA by default the fastest first. Nothing for a part of a
/// split GPU.
using ProcessesOnGpus = std::map<std::string, std::optional<unsigned>>;

/// Before this process uses one.
ProcessesOnGpus LookForProcesses() {
  ProcessesOnGpus processes;
  const auto nvml = Nvml::Open();
  for (const auto& gpu : nvml ? nvml->Gpus() : std::vector<Nvml::Gpu>()) {
    if (!gpu.is_split) processes[gpu.uuid] = nvml->ProcessesOn(gpu);
  }
  return processes;
}

std::optional<unsigned> Find(const ProcessesOnGpus& processes, const std::string& uuid) {
  const auto found = processes.find(uuid);
  return found == processes.end() ? std::nullopt : found->second;
}

/// Whether another process could be given memory of the GPU.
std::optional<Refusal> TrySharing(const runtime::DevicePlace& place) try {
  const runtime::DeviceBlock block(place, kSharedBytes);
  const runtime::InContext here(place);
  runtime::IpcHandle handle;
  const int code = place.driver->direct()->cuIpcGetMemHandle(&handle, runtime::AddressOf(block.data()));
  if (code == 0) return {};
  return Refusal{code, place.driver->NameOf(code)};
} catch (const runtime::DeviceError& error) {
  return Refusal{error.code(), place.driver->NameOf(error.code())};
}

void UseGpu(const CudaDriver& cuda, const runtime::DevicePlace& place, GpuFacts& gpu) {
  {
    const runtime::InContext here(place);
    gpu.memory = cuda.Memory();
  }
  if (place.driver->direct() == nullptr) return;
  MeasureCopies(place, gpu);
  gpu.no_sharing = TrySharing(place);
  gpu.sums = runtime::SumKernel::Of(place) != nullptr;
}

GpuFacts LookAtGpu(const CudaDriver& cuda, const runtime::Driver& driver, int ordinal) {
  GpuFacts gpu;
  gpu.name = cuda.NameOfGpu(ordinal);
  int code = 0;
  const runtime::DevicePlace place{&driver, cuda.ContextOf(ordinal, code), ordinal};
  try {
    driver.Check(code, "cuDevicePrimaryCtxRetain");
    UseGpu(cuda, place, gpu);
  } catch (const runtime::DeviceError& error) {
    gpu.no_context = Refusal{error.code(), driver.NameOf(error.code())};
  }
  return gpu;
}

std::vector<std::pair<int, int>> GpusApart(const CudaDriver& cuda, int count) {
  std::vector<std::pair<int, int>> apart;
  for (int one = 0; one < count; ++one) {
    for (int other = one + 1; other < count; ++other) {
      if (!cuda.Reaches(one, other) || !cuda.Reaches(other, one)) apart.emplace_back(one, other);
    }
  }
  return apart;
}

void LookAtGpus(const CudaDriver& cuda, GpuExchangeFacts& facts) try {
  const auto* driver = runtime::Driver::Loaded();
  if (driver == nullptr) return;
  LookForNccl(*driver, facts);
  driver->RequireComplete();
  facts.can_share = driver->direct() != nullptr;
  const int count = cuda.Count();
  const auto processes = LookForProcesses();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    facts.gpus.push_back(LookAtGpu(cuda, *driver, ordinal));
    facts.gpus.back().processes = Find(processes, cuda.UuidOf(ordinal));
  }
  facts.apart = GpusApart(cuda, count);
  if (facts.can_share) facts.peer_copies = MeasurePeerCopies(cuda, *driver, PairsToMeasure(facts));
} catch (const runtime::RuntimeError& error) {
  facts.too_old = error.what();
}

/// As the exchange reads it.
void ReadSetting(const Spec& spec, GpuSurroundings surroundings, GpuExchangeFacts& facts) try {
  facts.planned.maker = surroundings.maker;
  const auto setting = Environment::Inherited().Get(facts.asked_by).value_or("");
  facts.ask_less = "unset " + facts.asked_by;
  if (setting.empty()) {
    facts.asked_by = "gradients.gpu_exchange";
    facts.ask_less = "set gradients.gpu_exchange: auto";
  } else {
    runtime::WithChanges({}, Json{{"gpu_exchange", setting}});
    surroundings.variable = FromWord<GpuExchange>(setting);
  }
  facts.planned = PlanGpuExchange(spec, surroundings);
} catch (const runtime::RuntimeError& error) {
  facts.wrong_setting = error.what();
}

// ---- judging

std::string SpeedText(double bytes_per_s) { return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9); }

Finding JudgeNoStart(const Refusal& refusal) {
  if (refusal.code == kCudaNoDevice) {
    return Warn("gpu driver", fmt::format("the NVIDIA driver finds no GPU: {}: GPU memory is not used", refusal.name),
                "check CUDA_VISIBLE_DEVICES and nvidia-smi -L; in a container start it with its GPUs");
  }
  return Warn("gpu driver", fmt::format("the NVIDIA driver does not start: {}: GPU memory is not used", refusal.name),
              kShowGpus);
}

Finding JudgeMemory(const std::string& about, const GpuFacts& gpu) {
  if (gpu.no_context) {
    return Warn(about, fmt::format("{}: programs cannot use it: {}", gpu.name, gpu.no_context->name), kShowGpus);
  }
  auto text = gpu.name;
  if (gpu.memory)
    text += fmt::format(", {} of {} free", FormatBytes({gpu.memory->free}), FormatBytes({gpu.memory->total}));
  if (gpu.processes.value_or(0) > 0) {
    text += fmt::format(", {} process{} on it", *gpu.processes, *gpu.processes == 1 ? "" : "es");
  }
  if (!gpu.memory || gpu.memory->free >= kLittleGpuMemory) return Ok(about, text);
  return Warn(about, text + ": almost nothing", "nvidia-smi shows who uses it; end that, or use another GPU");
}

Finding JudgeCopies(const std::string& about, const GpuFacts& gpu) {
  if (gpu.no_pinning) {
    return Warn(about,
                fmt::format("not measured: memory cannot be pinned: {}; copies are slower", gpu.no_pinning->name),
                "raise the limit of locked memory: ulimit -l");
  }
  if (!gpu.copies) return Warn(about, fmt::format("not measured: {}", gpu.no_copies->name), kShowGpus);
  const auto& [to_gpu, from_gpu, both_ways] = *gpu.copies;
  const auto text = fmt::format("pinned memory: {} to it, {} from it, {} both ways at once", SpeedText(to_gpu),
                                SpeedText(from_gpu), SpeedText(both_ways));
  if (std::min(to_gpu, from_gpu) >= kSlowCopies) return Ok(about, text);
  return Warn(about, text + ", which is slow",
              "nvidia-smi -q -d PCIE shows the width of its link; top, what else runs");
}

std::string PairsText(const std::vector<std::pair<int, int>>& pairs) {
  return JoinEach(pairs, ", ", [](const auto& pair) { return fmt::format("{}-{}", pair.first, pair.second); });
}

Finding JudgePeers(const GpuExchangeFacts& facts) {
  constexpr const char* kAbout = "gpu peers";
  if (facts.apart.empty()) return Ok(kAbout, "each GPU reaches the memory of the others");
  return Warn(kAbout, fmt::format("GPUs that do not reach each other: {}", PairsText(facts.apart)),
              "nvidia-smi topo -p2p r shows why");
}

Finding JudgeMps(const std::filesystem::path& folder) {
  return Ok("mps", fmt::format("NVIDIA's MPS listens in {}: programs that share a GPU compute at the same time",
                               folder.native()));
}

/// "0 to 1, 1 to 0": the copies that `fits`, each in the words of `text`.
template <class Fits, class Text>
std::string CopiesText(const std::vector<PeerCopy>& copies, Fits fits, Text text) {
  std::vector<std::string> words;
  for (const auto& copy : copies) {
    if (fits(copy)) words.push_back(fmt::format("{} to {}{}", copy.from, copy.to, text(copy)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string WrongCopiesText(const std::vector<PeerCopy>& copies) {
  return CopiesText(
      copies, [](const auto& copy) { return copy.is_wrong; }, [](const auto&) { return ""; });
}

constexpr const char* kMendPeers =
    "ask the administrator to switch off the IOMMU, or ACS on the PCIe bridges; till then SLIPWAY_GPU_EXCHANGE=staged";

Finding JudgePeerCopies(const std::vector<PeerCopy>& copies) {
  constexpr const char* kAbout = "gpu peer copies";
  if (const auto wrong = WrongCopiesText(copies); !wrong.empty()) {
    return Fail(kAbout, "other bytes arrive than were sent, from GPU " + wrong, kMendPeers);
  }
  const auto failed = CopiesText(
      copies, [](const auto& copy) { return copy.failed.has_value(); },
      [](const auto& copy) { return " " + copy.failed->name; });
  if (!failed.empty()) return Warn(kAbout, "not measured: from GPU " + failed, kShowGpus);
  return Ok(kAbout, "from GPU " + CopiesText(
                                      copies, [](const auto&) { return true; },
                                      [](const auto& copy) { return " " + SpeedText(copy.bytes_per_s); }));
}

Finding JudgeNccl(const GpuExchangeFacts& facts) {
  if (facts.nccl) {
    return Ok("nccl", fmt::format("{}: gpu_exchange nccl can be used by ranks with a GPU each", *facts.nccl));
  }
  const bool asked = facts.planned.way == GpuExchange::kNccl;
  return Ok("nccl", fmt::format("not used{}: {}", asked ? "" : ", and not needed", facts.no_nccl));
}

/// Why the GPUs of this node cannot combine tensors themselves, and what to do about it.
struct Obstacle {
  std::string reason;
  std::string remedy;
};

std::optional<Obstacle> ObstacleOfGpu(int number, const GpuFacts& gpu) {
  if (gpu.no_context) return Obstacle{fmt::format("GPU {} cannot be used", number), kShowGpus};
  if (gpu.no_sharing) {
    return Obstacle{fmt::format("CUDA IPC does not share memory of GPU {}: {}", number, gpu.no_sharing->name),
                    "CUDA IPC needs Linux with the full driver; in a container: --ipc=host"};
  }
  if (!gpu.sums) {
    return Obstacle{fmt::format("the driver does not load the exchange's kernel on GPU {}", number),
                    "update the driver to one for CUDA 10 or newer; the GPU needs compute capability 6.0"};
  }
  return {};
}

std::optional<Obstacle> ObstacleOf(const GpuExchangeFacts& facts) {
  if (!facts.can_share) return Obstacle{"the driver is too old to share GPU memory", "update the driver"};
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    if (auto obstacle = ObstacleOfGpu(static_cast<int>(i), facts.gpus[i])) return obstacle;
  }
  if (const auto wrong = WrongCopiesText(facts.peer_copies); !wrong.empty()) {
    return Obstacle{fmt::format("other bytes arrive than were sent, from GPU {}", wrong), kMendPeers};
  }
  if (facts.apart.empty()) return {};
  return Obstacle{fmt::format("GPUs that do not reach each other: {}", PairsText(facts.apart)),
                  "ranks on GPUs that reach each other use these directly: choose them by CUDA_VISIBLE_DEVICES"};
}

Finding JudgeAskedNccl(const GpuExchangeFacts& facts) {
  constexpr const char* kBy = "ranks with a GPU each exchange GPU memory by";
  if (facts.planned.maker == GpuMaker::kAmd) {
    return Ok(kGpuExchange,
              fmt::format("{} RCCL: {} says so; a job without it ends with an error", kBy, facts.asked_by));
  }
  if (facts.nccl) return Ok(kGpuExchange, fmt::format("{} NCCL {}: {} says so", kBy, *facts.nccl, facts.asked_by));
  const auto text = fmt::format("{} is nccl: {}", facts.asked_by, facts.no_nccl);
  if (facts.names_nccl) return Fail(kGpuExchange, text, facts.ask_less + ", or name another file in SLIPWAY_NCCL");
  return Warn(kGpuExchange, text + "; a program with PyTorch brings its own",
              "for programs without PyTorch install NCCL 2.14 or newer, or name its file in SLIPWAY_NCCL");
}

/// Which MPI starts the ranks is not known here.
Finding JudgeAskedMpi(const GpuExchangeFacts& facts) {
  return Ok(kGpuExchange, fmt::format("ranks give GPU memory to MPI, as {} says; one that does not take it is an error",
                                      facts.asked_by));
}

constexpr const char* kStagedText = "ranks of one node exchange GPU memory through pinned memory (staged)";

/// Where `auto` does not depend on the GPUs.
std::optional<Finding> JudgeAutomatic(const GpuExchangePlan& planned) {
  if (!planned.staged.empty()) {
    return Ok(kGpuExchange,
              fmt::format("ranks exchange GPU memory through pinned memory (staged), {}", planned.staged));
  }
  if (!planned.measured) return {};
  return Ok(kGpuExchange, "ranks exchange GPU memory by the fastest way, measured at the start");
}

/// What the settings decide, whatever the GPUs are.
std::optional<Finding> JudgeSettings(const GpuExchangeFacts& facts) {
  if (!facts.wrong_setting.empty()) return Fail(kGpuExchange, facts.wrong_setting, facts.ask_less);
  const auto& planned = facts.planned;
  if (!planned.refused.empty()) {
    return Fail(kGpuExchange, fmt::format("{} is {}: {}", facts.asked_by, WordOf(planned.way), planned.refused),
                facts.ask_less);
  }
  switch (planned.way) {
    case GpuExchange::kAuto: return JudgeAutomatic(planned);
    case GpuExchange::kStaged: return Ok(kGpuExchange, fmt::format("{}: {} says so", kStagedText, facts.asked_by));
    case GpuExchange::kNccl: return JudgeAskedNccl(facts);
    case GpuExchange::kMpi: return JudgeAskedMpi(facts);
    case GpuExchange::kDirect: break;
  }
  return {};
}

Finding JudgeExchange(const GpuExchangeFacts& facts) {
  if (auto decided = JudgeSettings(facts)) return *decided;
  const auto obstacle = ObstacleOf(facts);
  if (!obstacle) return Ok(kGpuExchange, "ranks of one node exchange GPU memory by the GPUs (direct)");
  if (facts.planned.way == GpuExchange::kDirect) {
    return Fail(kGpuExchange,
                fmt::format("ranks cannot exchange GPU memory by the GPUs (direct), as {} says: {}", facts.asked_by,
                            obstacle->reason),
                obstacle->remedy);
  }
  return Warn(kGpuExchange, fmt::format("{}: {}", kStagedText, obstacle->reason), obstacle->remedy);
}

void AddGpuFindings(const GpuFacts& gpu, int number, bool measured, Findings& findings) {
  const auto about = fmt::format("gpu {}", number);
  findings.push_back(JudgeMemory(about, gpu));
  if (measured && !gpu.no_context) findings.push_back(JudgeCopies(about + " copies", gpu));
}

/// Nothing: there are some.
std::optional<Refusal> WhyNoGpus(const CudaDriver& cuda) {
  int code = cuda.Init();
  if (code == 0 && cuda.Count() == 0) code = kCudaNoDevice;
  return code == 0 ? std::nullopt : std::optional(Refusal{code, cuda.NameOf(code)});
}

}  // namespace

GpuExchangeFacts ProbeGpuExchange(const Spec& spec, GpuSurroundings surroundings, const std::filesystem::path& root) {
  GpuExchangeFacts facts;
  const auto cuda = CudaDriver::Open();
  facts.has_driver = cuda.has_value();
  if (cuda) facts.no_start = WhyNoGpus(*cuda);
  const bool has_gpus = cuda && !facts.no_start;
  if (!has_gpus) surroundings.maker = MakerOfGpus(spec.launch, root);
  ReadSetting(spec, surroundings, facts);
  if (!has_gpus) return facts;
  facts.version = cuda->Version();
  facts.mps = FolderOfMps();
  LookAtGpus(*cuda, facts);
  return facts;
}

Findings Judge(const GpuExchangeFacts& facts) {
  const bool has_gpus = facts.has_driver && !facts.no_start;
  if (!has_gpus && facts.planned.maker == GpuMaker::kAmd) return {JudgeExchange(facts)};
  if (!facts.has_driver) return {Ok(kGpuExchange, "no NVIDIA driver: GPU memory is not used")};
  if (facts.no_start) return {JudgeNoStart(*facts.no_start)};
  if (!facts.too_old.empty()) {
    return {Warn(kGpuExchange, facts.too_old, "nvidia-smi shows the version of the driver"), JudgeNccl(facts)};
  }
  const auto count = facts.gpus.size();
  Findings findings{Ok("gpu driver", fmt::format("CUDA {}, {}", facts.version, Counted(count, "GPU")))};
  for (std::size_t i = 0; i < count; ++i) {
    AddGpuFindings(facts.gpus[i], static_cast<int>(i), facts.can_share, findings);
  }
  if (count > 1) findings.push_back(JudgePeers(facts));
  if (facts.mps) findings.push_back(JudgeMps(*facts.mps));
  if (!facts.peer_copies.empty()) findings.push_back(JudgePeerCopies(facts.peer_copies));
  findings.push_back(JudgeNccl(facts));
  findings.push_back(JudgeExchange(facts));
  return findings;
}

}  // namespace slipway::launcher
