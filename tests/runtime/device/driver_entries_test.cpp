// What is left of a driver that lacks one function: each that the runtime looks for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "runtime/device/driver.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace slipway::runtime {
namespace {

/// Without an answer to where memory lies, all of it is the CPU's.
constexpr const char* kIsDeviceMemory = "cuPointerGetAttribute";

/// The names of CUDA's functions in the source that takes them.
std::set<std::string> NamesInTheSource() {
  std::ifstream file(SLIPWAY_SOURCE_DIR "/runtime/device/driver.cpp");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex name("\"(cu[A-Z]\\w+)\"");
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

/// What is left without each, as SayWhatIsLeftWithout() says it. All others are required.
std::map<std::string, std::string> LeftWithoutOptional() {
  std::map<std::string, std::string> left{{kIsDeviceMemory, "nothing"}};
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

void ExpectLeftWithout(const std::string& name, const testing::Matcher<const std::string&>& left) {
  EXPECT_EXIT(SayWhatIsLeftWithout(name.c_str()), testing::ExitedWithCode(0), left) << name;
}

TEST(DriverEntries, AreAllOfADriverThatIsWhole) {
  EXPECT_EXIT(SayWhatIsLeftWithout(nullptr), testing::ExitedWithCode(0),
              testing::StrEq("copies, captures, memory, direct, shared events"));
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

TEST(DriverEntries, ThatTheLibraryDoesNotHaveCannotBeHidden) {
  EXPECT_DEATH(fake_gpu_hide("cuNoSuchEntry"), "cuNoSuchEntry cannot be hidden");
}

}  // namespace
}  // namespace slipway::runtime
