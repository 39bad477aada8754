// What is left of a driver that lacks one function: each that the runtime looks for.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "runtime/device/device_memory.h"
#include "runtime/device/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace slipway::runtime {
namespace {

/// Without an answer to where memory lies, all of it is the CPU's.
constexpr const char* kIsDeviceMemory = "cuPointerGetAttribute";

constexpr const char* kAll = "copies, captures, memory, direct, shared events";
constexpr const char* kSource = "runtime/device/driver.cpp";  // takes the functions

/// What `write` makes of each match of the expression in a file of the source tree.
template <class Write>
auto MatchesIn(const std::string& path, const char* expression, Write write) {
  std::ifstream file(SLIPWAY_SOURCE_DIR "/" + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex wanted(expression);
  std::set<std::string> matches;
  for (std::sregex_iterator found(text.begin(), text.end(), wanted), end; found != end; ++found) {
    matches.insert(write(*found));
  }
  return matches;
}

std::string FirstGroup(const std::smatch& match) { return match[1]; }

/// The names of CUDA's functions.
std::set<std::string> NamesInTheSource() { return MatchesIn(kSource, "\"(cu[A-Z]\\w+)\"", FirstGroup); }

/// What is left without each, as SayWhatIsLeftWithout() says it. All others are required.
std::map<std::string, std::string> LeftWithoutOptional() {
  std::map<std::string, std::string> left{{kIsDeviceMemory, "nothing"}, {"cuDeviceGetCount", kAll}};
  for (const char* name : {SLIPWAY_ENTRIES_OF_MEMORY}) left[name] = "copies, captures";
  for (const char* name : {SLIPWAY_ENTRIES_OF_DIRECT}) left[name] = "copies, captures, memory";
  for (const char* name : {SLIPWAY_ENTRIES_OF_SHARED_EVENTS}) left[name] = "copies, captures, memory, direct";
  for (const char* name : {SLIPWAY_ENTRIES_OF_CAPTURES}) left[name] = "copies, memory, direct, shared events";
  return left;
}

std::string WhatIsLeft(const Driver* driver) try {
  if (driver == nullptr) return "nothing";
  driver->RequireComplete();
  std::string left = "copies";
  if (driver->cuStreamIsCapturing != nullptr && driver->cuThreadExchangeStreamCaptureMode != nullptr) {
    left += ", captures";
  }
  if (driver->memory() != nullptr) left += ", memory";
  if (driver->direct() != nullptr) left += ", direct";
  if (driver->shared_events() != nullptr) left += ", shared events";
  return left;
} catch (const RuntimeError& error) {
  return error.status() == SLIPWAY_ERROR_DEVICE ? error.what() : "another error";
}

/// In a process of its own: the runtime looks once. Null: without none.
[[noreturn]] void SayWhatIsLeftWithout(const char* name) {
  if (name != nullptr) fake_gpu_hide(name);
  std::fputs(WhatIsLeft(Driver::Loaded()).c_str(), stderr);
  ::_exit(0);
}

/// The questions for GPUs of three looks for the driver. In a process of its own, as above.
[[noreturn]] void SayHowOftenGpusAreCounted(bool is_started) {
  if (is_started) fake_gpu::cuInit(0);
  Driver::Loaded();  // the first look asks in any case
  const auto before = fake_gpu_calls("cuDeviceGetCount");
  for (int look = 0; look < 3; ++look) Driver::Loaded();
  std::fputs(std::to_string(fake_gpu_calls("cuDeviceGetCount") - before).c_str(), stderr);
  ::_exit(0);
}

/// Before and after the program has started CUDA. In a process of its own, as above.
[[noreturn]] void SayWhoseMemoryIsKnown() {
  void* const library = ::dlopen(SLIPWAY_FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
  void* of_hip = nullptr;
  reinterpret_cast<int (*)(void**, std::size_t)>(::dlsym(library, "hipMalloc"))(&of_hip, sizeof(int));
  const auto maker_of = [](const void* memory) -> std::string {
    const auto place = PlaceOf(memory);
    if (!place) return "the CPU";
    return place->driver->hip() != nullptr ? "HIP" : "CUDA";
  };
  auto said = maker_of(of_hip);
  fake_gpu::ContextHandle context = nullptr;
  fake_gpu::DevicePointer of_cuda = 0;
  fake_gpu::cuInit(0);
  fake_gpu::cuDevicePrimaryCtxRetain(&context, 0);
  fake_gpu::cuCtxSetCurrent(context);
  fake_gpu::cuMemAlloc_v2(&of_cuda, sizeof(int));
  said += ", " + maker_of(reinterpret_cast<const void*>(of_cuda)) + ", " + maker_of(of_hip) + ", " + maker_of(&said);
  std::fputs(said.c_str(), stderr);
  ::_exit(0);
}

void ExpectLeftWithout(const std::string& name, const testing::Matcher<const std::string&>& left) {
  EXPECT_EXIT(SayWhatIsLeftWithout(name.c_str()), testing::ExitedWithCode(0), left) << name;
}

TEST(DriverEntries, AreAllOfADriverThatIsWhole) {
  EXPECT_EXIT(SayWhatIsLeftWithout(nullptr), testing::ExitedWithCode(0), testing::StrEq(kAll));
}

TEST(DriverEntries, ThatAreOptionalTakeWithThemWhatNeedsThem) {
  const auto names = NamesInTheSource();
  for (const auto& [name, left] : LeftWithoutOptional()) {
    EXPECT_TRUE(names.contains(name)) << name;
    ExpectLeftWithout(name, left);
  }
}

TEST(DriverEntries, ThatAreRequiredAreNamed) {
  const auto optional = LeftWithoutOptional();
  int required = 0;
  for (const auto& name : NamesInTheSource()) {
    if (optional.contains(name)) continue;
    ++required;
    ExpectLeftWithout(name, testing::HasSubstr("the driver of the GPU has no function " + name + ": it is too old"));
  }
  EXPECT_GT(required, 10);
}

/// The check itself is compiled where the machine has the header.
TEST(DriverEntries, OfHipAreComparedWithTheRealHeader) {
  const auto taken = MatchesIn(kSource, "\"(hip[A-Z]\\w+)\"( : \"cu\\w+\")?,\\s+(\\w+\\.)?(\\w+)\\)",
                               [](const auto& match) { return match.format("$4 is $1"); });
  const auto compared =
      MatchesIn("tests/runtime/device/hip_types_check.cpp", "SLIPWAY_CHECK\\([\\w:]+, (\\w+), (hip\\w+)\\);",
                [](const auto& match) { return match.format("$1 is $2"); });
  auto names = MatchesIn(kSource, "\"(hip[A-Z]\\w+)\"", FirstGroup);
  EXPECT_EQ(names.erase("hipGetDevicePropertiesR0600"), 1u) << "only looked for";
  EXPECT_EQ(taken.size(), names.size());
  EXPECT_EQ(taken, compared);
}

TEST(DriverEntries, CountGpusOnlyUntilTheProgramHasStartedTheDriver) {
  EXPECT_EXIT(SayHowOftenGpusAreCounted(false), testing::ExitedWithCode(0), testing::StrEq("3"));
  EXPECT_EXIT(SayHowOftenGpusAreCounted(true), testing::ExitedWithCode(0), testing::StrEq("0"));
}

TEST(DriverEntries, OfBothMakersKnowTheMemoryOfEach) {
  EXPECT_EXIT(SayWhoseMemoryIsKnown(), testing::ExitedWithCode(0), testing::StrEq("HIP, CUDA, HIP, the CPU"));
}

TEST(DriverEntries, ThatTheLibraryDoesNotHaveCannotBeHidden) {
  EXPECT_DEATH(fake_gpu_hide("cuNoSuchEntry"), "cuNoSuchEntry cannot be hidden");
}

}  // namespace
}  // namespace slipway::runtime
