#include "launcher/ranks/nodes/cross_thread_calls.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace slipway::launcher {
namespace {

TEST(CallThread, LetsTheLoopGoOnWhileACallWaits) {
  EventLoop loop;
  CallThread thread(loop);
  std::promise<void> answer;
  std::string order;
  thread.Make([&] {
    answer.get_future().wait();
    return [&] { order += "then"; };
  });
  loop.After(std::chrono::milliseconds(1), [&] {
    order += "timer ";
    answer.set_value();  // without the loop the call would wait for ever
  });
  while (order.find("then") == std::string::npos) loop.RunOnce();
  EXPECT_EQ(order, "timer then");
}

TEST(CallThread, MakesCallsInTheirOrder) {
  EventLoop loop;
  CallThread thread(loop);
  std::string order;
  for (const char letter : {'a', 'b', 'c'})
    thread.Make([&order, letter] { return [&order, letter] { order += letter; }; });
  while (order.size() < 3) loop.RunOnce();
  EXPECT_EQ(order, "abc");
}

TEST(CallThread, FinishesTheCallThatItMakesAndDropsTheOthers) {
  EventLoop loop;
  CallThread thread(loop);
  std::promise<void> begun, go_on;
  std::string order;
  thread.Make([&] {
    begun.set_value();
    go_on.get_future().wait();
    return [&] { order += "first"; };
  });
  thread.Make([&] { return [&] { order += "second"; }; });
  begun.get_future().wait();
  auto other = std::async(std::launch::async, [&] { go_on.set_value(); });
  thread.Finish();
  thread.Make([&] { return [&] { order += "third"; }; });
  // "second" had begun if the first was over before Finish() was called.
  EXPECT_EQ(order.substr(0, 5), "first");
  EXPECT_EQ(order.find("third"), std::string::npos);
}

}  // namespace
}  // namespace slipway::launcher
