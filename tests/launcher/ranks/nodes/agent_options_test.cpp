#include "launcher/ranks/nodes/agent_options.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

AgentOptions Example() {
  AgentOptions options;
  options.manager = {{"10.77.0.1", 4711}, {"fe80::1", 4712}};
  options.key_file = "/runs/small 1/.key";
  options.nodes = 4;
  options.sockets = "/tmp/slipway-0123";
  options.run = "/runs/small 1";
  options.join_patience_s = 30;
  return options;
}

TEST(AgentOptions, ComeBackFromTheCommandLine) {
  const auto options = Example();
  const auto again = ParseAgentCommand(AgentCommand(options));
  ASSERT_EQ(again.manager.size(), 2u);
  EXPECT_EQ(again.manager[1].host, "fe80::1");
  EXPECT_EQ(again.manager[1].port, 4712);
  EXPECT_EQ(again.key_file, options.key_file);
  EXPECT_EQ(again.nodes, 4);
  EXPECT_EQ(again.sockets, options.sockets);
  EXPECT_EQ(again.run, options.run);
  EXPECT_EQ(again.join_patience_s, 30);
}

TEST(AgentOptions, RefuseWhatTheyDoNotKnow) {
  EXPECT_THROW(ParseAgentCommand({"slipway-agent", "--nodes", "four"}), Error);
  EXPECT_THROW(ParseAgentCommand({"slipway-agent", "--nodes", "0"}), Error);
  EXPECT_THROW(ParseAgentCommand({"slipway-agent", "--colour", "red"}), Error);
  EXPECT_THROW(ParseAgentCommand({"slipway-agent", "--key"}), Error);
  EXPECT_THROW(ParseAgentCommand({"slipway-agent"}), Error);
}

TEST(AgentOptions, AgentsOfAnotherRunAreToldApart) {
  auto other = Example();
  other.run = "/runs/small 2";
  EXPECT_NE(IntroductionOf(Example(), 0, 4).plan, IntroductionOf(other, 0, 4).plan);
  EXPECT_EQ(IntroductionOf(Example(), 0, 4).plan, IntroductionOf(Example(), 3, 4).plan);
  EXPECT_NE(IntroductionOf(Example(), 0, 4).nonce, IntroductionOf(Example(), 0, 4).nonce);
}

TEST(AgentOptions, AgentsOfAnEarlierProtocolAreToldApart) {
  const auto first = staging::DigestOf("agents of a run, version 1: " + Example().run);
  EXPECT_NE(IntroductionOf(Example(), 0, 4).plan, first);
}

}  // namespace
}  // namespace slipway::launcher
