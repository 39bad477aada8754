#include "runtime/memory/redirected_calls.h"

#include <gtest/gtest.h>
#include <time.h>

#include <array>
#include <chrono>

namespace slipway::runtime {
namespace {

bool pretends = false;

int PretendedTime(clockid_t clock, timespec* time) {
  if (!pretends) return ::clock_gettime(clock, time);
  *time = {42, 0};
  return 0;
}

Redirection OfClock(void* usual) { return {"clock_gettime", usual, reinterpret_cast<void*>(&PretendedTime)}; }

void* ClockOfSystem() { return reinterpret_cast<void*>(&::clock_gettime); }

std::int64_t SecondsOfLibrary() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(RedirectedCalls, AreRefusedWhereTheyCannotBeKnown) {
  const std::array clock{OfClock(ClockOfSystem())};
  EXPECT_FALSE(RedirectCalls("libnosuchlibrary.so", clock));
  EXPECT_FALSE(RedirectCalls("libstdc", clock));  // a part of the name
  EXPECT_FALSE(RedirectCalls("libstdc++.so", std::array{Redirection{"no_such_function", nullptr, ClockOfSystem()}}));
}

TEST(RedirectedCalls, AreAllRefusedWhereOneOfThemLeadsElsewhereAlready) {
  EXPECT_FALSE(RedirectCalls("libstdc++.so", std::array{OfClock(&pretends)}));
  EXPECT_FALSE(RedirectCalls("libstdc++.so", std::array{OfClock(ClockOfSystem()), OfClock(&pretends)}));
  pretends = true;
  EXPECT_NE(SecondsOfLibrary(), 42);
  pretends = false;
}

TEST(RedirectedCalls, LeadElsewhereInThisLibraryAlone) {
  if (!RedirectCalls("libstdc++.so", std::array{OfClock(ClockOfSystem())})) GTEST_SKIP() << "linked in another way";
  pretends = true;
  const auto seconds = SecondsOfLibrary();
  timespec here{};
  ::clock_gettime(CLOCK_MONOTONIC, &here);
  pretends = false;
  EXPECT_EQ(seconds, 42);
  EXPECT_NE(here.tv_sec, 42);
  EXPECT_NE(SecondsOfLibrary(), 42);
}

}  // namespace
}  // namespace slipway::runtime
