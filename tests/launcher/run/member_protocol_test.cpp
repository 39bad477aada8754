#include "launcher/run/member_protocol.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "launcher/run/message_channel.h"
#include "launcher/run/plan_agreement.h"

namespace slipway::launcher {
namespace {

using member::MemberHello;
using member::PlannedPlace;

MemberHello HelloWith(const std::string& root) {
  MemberHello hello;
  hello.pid = 4711;
  hello.address = {"10.77.0.1", 4712, {{"fe80::1", 4713}}, "n1"};
  hello.places = {{"train", "node", "/tmp/slipway-0/train-0123", {"ram: needs 3 GB"}, root}};
  return hello;
}

TEST(MemberProtocol, WhatMembersSayComesBack) {
  const auto hello = member::HelloFromJson(ToJson(HelloWith("boot:1:2")));
  EXPECT_EQ(hello.pid, 4711);
  EXPECT_EQ(hello.address.host, "10.77.0.1");
  EXPECT_EQ(hello.address.name, "n1");
  ASSERT_EQ(hello.address.more.size(), 1u);
  EXPECT_EQ(hello.address.more[0].host, "fe80::1");
  EXPECT_EQ(hello.address.more[0].port, 4713);
  ASSERT_EQ(hello.places.size(), 1u);
  EXPECT_EQ(hello.places[0].directory, "/tmp/slipway-0/train-0123");
  EXPECT_EQ(hello.places[0].root, "boot:1:2");
  const auto order = member::OrderFromJson(ToJson(member::StageOrder{"train", 1, {{"a", 1}, {"b", 2}}}));
  EXPECT_EQ(order.number, 1u);
  EXPECT_EQ(order.nodes.at(1).host, "b");
}

TEST(MemberProtocol, ErrorsKeepTheirContext) {
  Error error(ErrorKind::kBusy, "it is in use", "wait");
  error.AddContext("while staging");
  const auto again = member::ErrorFromJson(member::ErrorToJson(error));
  EXPECT_EQ(again.kind(), ErrorKind::kBusy);
  EXPECT_STREQ(again.what(), error.what());
}

TEST(PlanAgreement, OfTheNodesThatSeeOneDirectoryTheFirstStages) {
  EXPECT_EQ(StagersOf("train", {HelloWith("a"), HelloWith("b"), HelloWith("a"), HelloWith("c")}),
            (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_TRUE(StagersOf("other", {HelloWith("a")}).empty());
}

TEST(PlanAgreement, AnotherDirectoryInTheSameTierIsAnotherPlace) {
  staging::StagingPlan plan;
  plan.request.name = "train";
  plan.tier = "node";
  plan.directory = "/tmp/slipway-0/train-0123";
  auto place = HelloWith("a").places.front();
  EXPECT_FALSE(Disagreement(plan, place, "n1"));
  place.directory = "/scratch/slipway-0/train-0123";
  const auto difference = Disagreement(plan, place, "n1");
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->message(),
            "dataset 'train' is to lie in tier node ('/tmp/slipway-0/train-0123') on every node, but node n1 has it in "
            "tier node ('/scratch/slipway-0/train-0123'); there not ram: needs 3 GB");
}

/// A channel whose other end is a bare socket.
class MessageChannels : public testing::Test {
 protected:
  MessageChannels() { Connect(); }

  void Connect() {
    channel_.reset();
    heard_.clear();
    ended_ = 0;
    int ends[2];
    CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    other_ = UniqueFd(ends[1]);
    channel_.emplace(loop_, UniqueFd(ends[0]),
                     MessageChannel::Events{[this](std::string_view word, const Json& about) {
                                              heard_.push_back(std::string(word) + about.at("n").dump());
                                            },
                                            [this] { ++ended_; }});
  }

  void Send(const std::string& bytes) {
    ASSERT_EQ(::send(other_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    loop_.RunOnce(std::chrono::milliseconds(20));
  }

  EventLoop loop_;
  UniqueFd other_;
  std::optional<MessageChannel> channel_;
  std::vector<std::string> heard_;
  int ended_ = 0;
};

TEST_F(MessageChannels, HearWholeLinesOnly) {
  Send("one {\"n\":1}\ntwo {\"n\"");
  EXPECT_EQ(heard_, std::vector<std::string>{"one1"});
  Send(":2}\nthree {\"n\":3}\n");
  EXPECT_EQ(heard_, (std::vector<std::string>{"one1", "two2", "three3"}));
  EXPECT_EQ(ended_, 0);
}

TEST_F(MessageChannels, EndWithTheOtherSide) {
  other_.Reset();
  loop_.RunOnce(std::chrono::milliseconds(20));
  EXPECT_EQ(ended_, 1);
}

TEST_F(MessageChannels, EndWithWhatIsNoMessage) {
  for (const auto* line : {"nonsense\n", "word {\"n\":\n", "word {\"m\":1}\n"}) {
    Connect();
    Send(line);
    EXPECT_TRUE(heard_.empty());
    EXPECT_EQ(ended_, 1) << line;
  }
}

TEST_F(MessageChannels, SayWhatIsNoUtf8) {
  channel_->Say("word", Json{{"n", "a\xff"}});
  char text[64] = {};
  ASSERT_GT(::recv(other_.get(), text, sizeof text, 0), 0);
  EXPECT_EQ(std::string(text), "word {\"n\":\"a\xef\xbf\xbd\"}\n");
}

}  // namespace
}  // namespace slipway::launcher
