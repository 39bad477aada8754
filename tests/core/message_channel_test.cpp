#include "core/message_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace slipway {
namespace {

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
}  // namespace slipway
