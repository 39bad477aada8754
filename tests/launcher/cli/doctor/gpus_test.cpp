// What `doctor` says of GPUs. The driver is the fake one of tests/runtime/device/fake_driver, each time in a new
// process.

#include "launcher/cli/doctor/gpus.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/files.h"
#include "core/unique_handle.h"
#include "launcher/cli/doctor/check.h"
#include "launcher/cli/doctor/gpu_copies.h"
#include "tests/launcher/cli/doctor/about.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

/// A library whose functions are found by name.
class Library {
 public:
  explicit Library(const char* file) : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {}
  template <class... Arguments>
  void Call(const char* function, Arguments... arguments) const {
    reinterpret_cast<void (*)(Arguments...)>(::dlsym(handle_, function))(arguments...);
  }
  void FailCall(const char* entry, int code) const { Call("fake_gpu_fail_call", entry, std::uint64_t{1}, code); }
  void SetDevices(int count) const { Call("fake_gpu_set_devices", count, std::size_t{1} << 30); }
  /// What the exchange's kernels would do is not needed.
  void RegisterKernels() const {
    for (const char* name :
         {"slipway_sum_float32", "slipway_sum_float64", "slipway_sum_float16", "slipway_sum_bfloat16"}) {
      Call("fake_gpu_register_kernel", name, fake_gpu_kernel{}, static_cast<const std::size_t*>(nullptr),
           std::size_t{0});
    }
  }

 private:
  void* handle_;
};

/// With one GPU unless `prepare` sets more. It changes what the driver answers. Those of AMD are looked for in `root`.
Findings FindingsWith(const char* driver, const std::function<void(const Library&)>& prepare,
                      const std::filesystem::path& root = "/no-such-folder") {
  return Perform({"gpu exchange", std::chrono::seconds(60),
                  [=] {
                    const Library library(driver);
                    library.SetDevices(1);
                    prepare(library);
                    return Judge(ProbeGpuExchange({}, {}, root));
                  }})
      .findings;
}
Findings FindingsAfter(const std::function<void(const Library&)>& prepare) {
  return FindingsWith(SLIPWAY_FAKE_DRIVER, prepare);
}

TEST(DoctorGpus, AreMeasuredAndExchangeDirectly) {
  const auto findings = FindingsAfter([](const Library& driver) {
    driver.SetDevices(2);
    driver.RegisterKernels();
  });
  EXPECT_EQ(About(findings, "gpu driver"), Ok("gpu driver", "CUDA 12.4, 2 GPUs"));
  EXPECT_EQ(About(findings, "gpu 1"), Ok("gpu 1", "Slipway fake GPU 1, 1.07 GB of 1.07 GB free"));
  EXPECT_THAT(About(findings, "gpu 0 copies").text,
              MatchesRegex("pinned memory: .* GB/s to it, .* GB/s from it, .* GB/s both ways at once.*"));
  EXPECT_EQ(About(findings, "gpu peers").grade, Grade::kOk);
  EXPECT_EQ(About(findings, "gpu peer copies").grade, Grade::kOk);
  EXPECT_THAT(About(findings, "gpu peer copies").text, MatchesRegex("from GPU 0 to 1 .* GB/s, 1 to 0 .* GB/s"));
  EXPECT_EQ(About(findings, "gpu exchange"),
            Ok("gpu exchange", "ranks of one node exchange GPU memory by the GPUs (direct)"));
}

TEST(DoctorGpus, OfADriverWithoutDevicesAreNotUsed) {
  const auto findings = FindingsAfter([](const Library& driver) { driver.SetDevices(0); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].grade, Grade::kWarn);
  EXPECT_THAT(findings[0].text, HasSubstr("finds no GPU: CUDA_ERROR_NO_DEVICE (100): GPU memory is not used"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(DoctorGpus, OfADriverThatDoesNotStartNameItsError) {
  const auto findings = FindingsAfter([](const Library& driver) { driver.FailCall("cuInit", 999); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].text, HasSubstr("does not start: CUDA_ERROR_UNKNOWN (999)"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("nvidia-smi"));
}

TEST(DoctorGpus, OfAnOldDriverNameTheFunctionThatItLacks) {
  const auto findings = FindingsWith(SLIPWAY_FAKE_OLD_DRIVER, [](const Library&) {});
  const auto exchange = About(findings, "gpu exchange");
  EXPECT_EQ(exchange.grade, Grade::kWarn);
  EXPECT_THAT(exchange.text, HasSubstr("has no function cuStreamWaitEvent: it is too old"));
  EXPECT_NE(exchange.remedy, "");
}

TEST(DoctorGpus, SayThatMemoryCannotBePinned) {
  const auto findings = FindingsAfter([](const Library& driver) {
    driver.SetDevices(2);
    driver.FailCall("cuMemHostRegister_v2", 2);
  });
  const auto copies = About(findings, "gpu 0 copies");
  EXPECT_EQ(copies.grade, Grade::kWarn);
  EXPECT_THAT(copies.text, HasSubstr("memory cannot be pinned: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  EXPECT_THAT(copies.remedy, HasSubstr("ulimit -l"));
  EXPECT_THAT(About(findings, "gpu 1 copies").text, HasSubstr("GB/s to it")) << "the others are measured";
}

TEST(DoctorGpus, SayThatCopiesFail) {
  const auto findings = FindingsAfter([](const Library& driver) { driver.FailCall("cuMemAlloc_v2", 2); });
  EXPECT_THAT(About(findings, "gpu 0 copies").text, HasSubstr("not measured: CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

TEST(DoctorGpus, ThatNoProgramCanUseAreNamed) {
  const auto findings = FindingsAfter([](const Library& driver) {
    driver.RegisterKernels();
    driver.FailCall("cuDevicePrimaryCtxRetain", 101);
  });
  EXPECT_THAT(About(findings, "gpu 0").text, HasSubstr("programs cannot use it: CUDA_ERROR_INVALID_DEVICE (101)"));
  EXPECT_THAT(About(findings, "gpu exchange").text, HasSubstr("(staged): GPU 0 cannot be used"));
}

TEST(DoctorGpus, WhoseMemoryCannotBeSharedExchangeStaged) {
  const auto findings = FindingsAfter([](const Library& driver) {
    driver.RegisterKernels();
    driver.FailCall("cuIpcGetMemHandle", 801);
  });
  const auto exchange = About(findings, "gpu exchange");
  EXPECT_EQ(exchange.grade, Grade::kWarn);
  EXPECT_THAT(exchange.text, HasSubstr("through pinned memory (staged): CUDA IPC does not share memory of GPU 0: "
                                       "CUDA_ERROR_NOT_SUPPORTED (801)"));
  EXPECT_NE(exchange.remedy, "");
}

TEST(DoctorGpus, ThatDoNotReachEachOtherExchangeStaged) {
  const auto findings = FindingsAfter([](const Library& driver) {
    driver.SetDevices(2);
    driver.RegisterKernels();
    driver.FailCall("cuDeviceCanAccessPeer", 101);
  });
  EXPECT_THAT(About(findings, "gpu peers").text, HasSubstr("GPUs that do not reach each other: 0-1"));
  EXPECT_THAT(About(findings, "gpu exchange").text, HasSubstr("(staged): GPUs that do not reach each other: 0-1"));
  for (const auto& finding : findings) EXPECT_NE(finding.about, "gpu peer copies");
}

TEST(DoctorGpus, ThatCopyOtherBytesFail) {
  const auto findings = FindingsAfter([](const Library& driver) {
    driver.SetDevices(2);
    driver.RegisterKernels();
    driver.Call("fake_gpu_spoil_peers", 1);
  });
  const auto copies = About(findings, "gpu peer copies");
  EXPECT_EQ(copies.grade, Grade::kFail);
  EXPECT_EQ(copies.text, "other bytes arrive than were sent, from GPU 0 to 1, 1 to 0");
  EXPECT_THAT(copies.remedy, HasSubstr("IOMMU"));
  EXPECT_THAT(About(findings, "gpu exchange").text, HasSubstr("(staged): other bytes arrive"));
}

TEST(DoctorGpus, SayThatCopiesToOthersFail) {
  for (const char* call : {"cuCtxEnablePeerAccess", "cuMemcpyPeerAsync"}) {
    const auto copies = About(FindingsAfter([=](const Library& driver) {
                                driver.SetDevices(2);
                                driver.FailCall(call, 801);
                              }),
                              "gpu peer copies");
    EXPECT_EQ(copies.grade, Grade::kWarn) << call;
    EXPECT_EQ(copies.text, "not measured: from GPU 0 to 1 CUDA_ERROR_NOT_SUPPORTED (801)") << call;
  }
}

TEST(DoctorGpus, WithoutTheKernelExchangeStaged) {
  const auto findings = FindingsAfter([](const Library&) {});
  EXPECT_THAT(About(findings, "gpu exchange").text,
              HasSubstr("(staged): the driver does not load the exchange's kernel"));
  for (const auto& finding : findings) EXPECT_NE(finding.about, "gpu peers") << "there is one GPU";
}

/// Of an MPS daemon: what listens at `path`. It ends with the object.
UniqueFd Listen(const std::filesystem::path& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  return socket;
}

TEST(DoctorGpus, UnderMpsSayWhereItsDaemonListens) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const test::TempDirectory folder;
    const auto findings = [&] {
      return FindingsAfter([&](const Library&) { ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.path().c_str(), 1); });
    };
    const auto is_named = [&] { return std::ranges::count(findings(), "mps", &Finding::about) > 0; };
    EXPECT_FALSE(is_named()) << "there is no socket";
    auto daemon = Listen(folder / "control", type);
    EXPECT_EQ(About(findings(), "mps"), Ok("mps", "NVIDIA's MPS listens in " + folder.path().native() +
                                                      ": programs that share a GPU compute at the same time"));
    daemon.Reset();
    EXPECT_FALSE(is_named()) << "its process has ended";
    std::filesystem::remove(folder / "control");
    WriteFile(folder / "control", "");
    EXPECT_FALSE(is_named()) << "it is no socket";
  }
}

TEST(DoctorGpus, TellTheVersionOfNccl) {
  const auto findings = FindingsAfter([](const Library&) { ::setenv("SLIPWAY_NCCL", SLIPWAY_FAKE_NCCL, 1); });
  EXPECT_EQ(About(findings, "nccl"), Ok("nccl", "2.28.9: gpu_exchange nccl can be used by ranks with a GPU each"));
}

TEST(DoctorGpus, SayWhyNcclIsNotUsed) {
  auto findings = FindingsAfter([](const Library&) { ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1); });
  EXPECT_EQ(About(findings, "nccl").grade, Grade::kOk);
  EXPECT_THAT(About(findings, "nccl").text, HasSubstr("SLIPWAY_NCCL cannot be loaded: /nonexistent/libnccl.so.2"));
  findings = FindingsAfter([](const Library&) {
    ::setenv("SLIPWAY_NCCL", SLIPWAY_FAKE_NCCL, 1);
    ::setenv("SLIPWAY_FAKE_NCCL_VERSION", "2803", 1);
  });
  EXPECT_EQ(About(findings, "nccl").text, "not used, and not needed: NCCL 2.8.3 is too old");
  findings = FindingsAfter([](const Library&) { ::setenv("SLIPWAY_NCCL", SLIPWAY_FAKE_NCCL_WITHOUT_ABORT, 1); });
  EXPECT_THAT(About(findings, "nccl").text, HasSubstr("NCCL has no function ncclCommAbort"));
  findings = FindingsAfter([](const Library&) {
    ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1);
    ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  });
  EXPECT_EQ(About(findings, "gpu exchange").grade, Grade::kFail);
  EXPECT_THAT(About(findings, "gpu exchange").text, HasSubstr("SLIPWAY_GPU_EXCHANGE is nccl: SLIPWAY_NCCL cannot"));
  EXPECT_THAT(About(findings, "gpu exchange").text, Not(HasSubstr("set gpu_exchange"))) << "that is the next step";
}

/// What SLIPWAY_GPU_EXCHANGE does to a GPU whose memory cannot be shared.
Finding ExchangeAsked(const char* setting) {
  return About(FindingsAfter([=](const Library& driver) {
                 ::setenv("SLIPWAY_GPU_EXCHANGE", setting, 1);
                 driver.RegisterKernels();
                 driver.FailCall("cuMemHostRegister_v2", 2);
                 driver.FailCall("cuIpcGetMemHandle", 801);
               }),
               "gpu exchange");
}

TEST(DoctorGpus, ExchangeAsTheSpecSaysUnlessTheVariableIsSet) {
  const auto with_spec = [](const char* variable) {
    return About(Perform({"gpu exchange", std::chrono::seconds(60),
                          [=] {
                            const Library library(SLIPWAY_FAKE_DRIVER);
                            library.SetDevices(1);
                            library.RegisterKernels();
                            ::setenv("SLIPWAY_GPU_EXCHANGE", variable, 1);
                            Spec spec;
                            spec.gradients.gpu_exchange = GpuExchange::kStaged;
                            return Judge(ProbeGpuExchange(spec));
                          }})
                     .findings,
                 "gpu exchange");
  };
  EXPECT_THAT(with_spec("").text, HasSubstr("(staged): gradients.gpu_exchange says so"));
  EXPECT_THAT(with_spec("direct").text, HasSubstr("by the GPUs (direct)"));
}

TEST(DoctorGpus, ExchangeAsTheSettingSays) {
  EXPECT_EQ(ExchangeAsked("staged").grade, Grade::kOk);
  EXPECT_THAT(ExchangeAsked("staged").text, HasSubstr("(staged): SLIPWAY_GPU_EXCHANGE says so"));
  EXPECT_EQ(ExchangeAsked("direct").grade, Grade::kFail);
  EXPECT_THAT(ExchangeAsked("direct").text, HasSubstr("as SLIPWAY_GPU_EXCHANGE says: CUDA IPC does not share"));
  EXPECT_EQ(ExchangeAsked("mpi").grade, Grade::kOk);
  EXPECT_THAT(ExchangeAsked("mpi").text, HasSubstr("ranks give GPU memory to MPI"));
  EXPECT_EQ(ExchangeAsked("fast").grade, Grade::kFail);
  EXPECT_THAT(ExchangeAsked("fast").text, HasSubstr("gpu_exchange"));
  EXPECT_EQ(ExchangeAsked("auto").grade, Grade::kWarn);
}

// ---- facts that the fake driver does not have

TEST(DoctorGpus, AreOneLineWithoutADriver) {
  EXPECT_EQ(Judge(GpuExchangeFacts{}), Findings{Ok("gpu exchange", "no NVIDIA driver: GPU memory is not used")});
}

/// What stands in the line of the exchange.
Finding ExchangeOf(const GpuExchangeFacts& facts) { return About(Judge(facts), "gpu exchange"); }

TEST(DoctorGpus, OfAmdExchangeStagedWithoutCuda) {
  GpuExchangeFacts facts;
  facts.planned = PlanGpuExchange({}, {.nodes = 1, .maker = GpuMaker::kAmd, .variable = {}});
  EXPECT_EQ(ExchangeOf(facts),
            Ok("gpu exchange",
               "ranks exchange GPU memory through pinned memory (staged), because the kernel of the sums is PTX, which "
               "AMD's GPUs cannot run"));
  Spec spec;
  spec.gradients.gpu_exchange = GpuExchange::kNccl;
  facts.planned = PlanGpuExchange(spec, {.nodes = 1, .maker = GpuMaker::kAmd, .variable = {}});
  EXPECT_EQ(ExchangeOf(facts).grade, Grade::kOk);
  EXPECT_THAT(ExchangeOf(facts).text, HasSubstr("exchange GPU memory by RCCL"));
  spec.gradients.gpu_exchange = GpuExchange::kDirect;
  facts.planned = PlanGpuExchange(spec, {.nodes = 1, .maker = GpuMaker::kAmd, .variable = {}});
  EXPECT_EQ(ExchangeOf(facts).grade, Grade::kFail);
  EXPECT_THAT(ExchangeOf(facts).text, HasSubstr("is direct: direct refuses these GPUs"));
}

TEST(DoctorGpus, OfAmdAreKnownByTheirDriver) {
  if (CudaDriver::Open()) GTEST_SKIP() << "NVIDIA's driver is here";
  const test::TempDirectory root;
  EXPECT_THAT(ExchangeOf(ProbeGpuExchange({}, {}, root.path())).text, HasSubstr("GPU memory is not used"));
  MakeDirectories(root / "dev");
  WriteFile(root / "dev/kfd", "");
  EXPECT_THAT(ExchangeOf(ProbeGpuExchange({}, {}, root.path())).text, HasSubstr("(staged), because"));
  ::setenv("SLIPWAY_GPU_EXCHANGE", "fast", 1);
  EXPECT_EQ(ExchangeOf(ProbeGpuExchange({}, {}, root.path())).grade, Grade::kFail);
  ::unsetenv("SLIPWAY_GPU_EXCHANGE");
}

TEST(DoctorGpus, OfAmdCountWhereNvidiasDriverFindsNone) {
  const test::TempDirectory root;
  MakeDirectories(root / "dev");
  WriteFile(root / "dev/kfd", "");
  const auto findings = FindingsWith(
      SLIPWAY_FAKE_DRIVER, [](const Library& driver) { driver.SetDevices(0); }, root.path());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].grade, Grade::kOk);
  EXPECT_THAT(findings[0].text, HasSubstr("(staged), because the kernel of the sums is PTX"));
}

GpuExchangeFacts OneGpu() {
  GpuExchangeFacts facts;
  facts.no_nccl = "it is not here";
  facts.has_driver = facts.can_share = true;
  facts.version = "12.8";
  facts.gpus.emplace_back();
  facts.gpus[0].name = "NVIDIA H200";
  facts.gpus[0].memory = GpuMemory{150'000'000'000, 149'000'000'000};
  facts.gpus[0].copies = CopySpeeds{55e9, 54e9, 90e9};
  facts.gpus[0].sums = true;
  return facts;
}

TEST(DoctorGpus, InOrderAreOk) {
  const auto findings = Judge(OneGpu());
  EXPECT_EQ(WorstOf(findings), Grade::kOk) << Describe(findings);
  EXPECT_EQ(About(findings, "gpu 0 copies").text,
            "pinned memory: 55 GB/s to it, 54 GB/s from it, 90 GB/s both ways at once");
  EXPECT_THAT(About(findings, "nccl").text, HasSubstr("not used, and not needed: it is not here"));
}

TEST(DoctorGpus, CopyEachToTheNextOfTheFirstEight) {
  auto facts = OneGpu();
  EXPECT_THAT(PairsToMeasure(facts), SizeIs(0));
  facts.gpus.assign(10, facts.gpus[0]);
  EXPECT_THAT(PairsToMeasure(facts), SizeIs(8));
  EXPECT_THAT(PairsToMeasure(facts), Contains(Pair(7, 0)));
  facts.apart = {{0, 7}, {4, 5}};
  facts.gpus[1].no_context = Refusal{101, "CUDA_ERROR_INVALID_DEVICE (101)"};
  EXPECT_EQ(PairsToMeasure(facts), (std::vector<std::pair<int, int>>{{2, 3}, {3, 4}, {5, 6}, {6, 7}}));
}

/// Which NCCL the program has is not known here.
TEST(DoctorGpus, WarnThatNcclMustComeWithTheProgram) {
  auto facts = OneGpu();
  Spec spec;
  spec.gradients.gpu_exchange = GpuExchange::kNccl;
  facts.planned = PlanGpuExchange(spec, {.nodes = 1, .maker = GpuMaker::kUnknown, .variable = {}});
  EXPECT_EQ(ExchangeOf(facts).grade, Grade::kWarn);
  EXPECT_THAT(ExchangeOf(facts).text, HasSubstr("is nccl: it is not here; a program with PyTorch brings its own"));
  EXPECT_THAT(ExchangeOf(facts).remedy, HasSubstr("SLIPWAY_NCCL"));
  EXPECT_EQ(About(Judge(facts), "nccl").text, "not used: it is not here");
  facts.names_nccl = true;
  EXPECT_EQ(ExchangeOf(facts).grade, Grade::kFail);
}

TEST(DoctorGpus, ThatAreFullOrSlowWarn) {
  auto facts = OneGpu();
  facts.gpus[0].memory->free = 5'000'000;
  facts.gpus[0].processes = 2;
  facts.gpus[0].copies->from_gpu = 0.8e9;
  const auto findings = Judge(facts);
  EXPECT_EQ(About(findings, "gpu 0").grade, Grade::kWarn);
  EXPECT_THAT(About(findings, "gpu 0").text, HasSubstr("2 processes on it"));
  EXPECT_EQ(About(findings, "gpu 0 copies").grade, Grade::kWarn);
  EXPECT_THAT(About(findings, "gpu 0 copies").text, HasSubstr("which is slow"));
}

/// As `plan` says it.
TEST(DoctorGpus, ExchangeAsTheExperimentLetsThem) {
  auto facts = OneGpu();
  const auto text = [&](const Spec& spec, int nodes) {
    facts.planned = PlanGpuExchange(spec, {.nodes = nodes, .maker = GpuMaker::kUnknown, .variable = {}});
    return ExchangeOf(facts).text;
  };
  constexpr auto kStaged = "ranks exchange GPU memory through pinned memory (staged), ";
  Spec spec;
  EXPECT_THAT(text(spec, 1), HasSubstr("by the GPUs (direct)"));
  EXPECT_EQ(text(spec, 2), kStaged + std::string("because the ranks are on several nodes; with deterministic: false "
                                                 "the fastest way is measured"));
  facts.planned = PlanGpuExchange(spec, {.cpu_adds_otherwise = true, .variable = {}});
  EXPECT_EQ(ExchangeOf(facts).text,
            kStaged + std::string("because the CPU does not add up in rank order, by the table of algorithms"));
  spec.gradients.clip_norm = 1;
  spec.gradients.mode = GradientMode::kDelayed;
  EXPECT_EQ(text(spec, 1), kStaged + std::string("because of mode: delayed, clip_norm"));
  EXPECT_EQ(ExchangeOf(facts).grade, Grade::kOk);
  spec.gradients.gpu_exchange = GpuExchange::kDirect;
  EXPECT_THAT(text(spec, 1), HasSubstr("direct refuses tensors in GPU memory with mode: delayed, clip_norm"));
  EXPECT_EQ(ExchangeOf(facts).grade, Grade::kFail);
  spec = {};
  spec.gradients.deterministic = Determinism::kOff;
  EXPECT_THAT(text(spec, 2), HasSubstr("by the fastest way, measured at the start"));
}

TEST(DoctorGpus, OfADriverThatCannotShareExchangeStaged) {
  auto facts = OneGpu();
  facts.can_share = false;
  facts.gpus[0].copies.reset();
  const auto findings = Judge(facts);
  EXPECT_THAT(About(findings, "gpu exchange").text, HasSubstr("(staged): the driver is too old to share GPU memory"));
  EXPECT_EQ(About(findings, "gpu exchange").remedy, "update the driver");
}

}  // namespace
}  // namespace slipway::launcher
