// Who may read: token, cookie, and the name that the server is called by.

#include "launcher/serve/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace slipway::launcher {
namespace {

TEST(ServeToken, HasARandomBitForEachOf128) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(NewToken());
  EXPECT_EQ(tokens.size(), 100u);
  for (const auto& token : tokens) EXPECT_THAT(token, testing::MatchesRegex("[0-9a-f]{32}"));
}

TEST(ServeToken, IsComparedWhole) {
  EXPECT_TRUE(IsSameSecret("abcd", "abcd"));
  EXPECT_FALSE(IsSameSecret("abcd", "abce"));
  EXPECT_FALSE(IsSameSecret("abcd", "bbcd"));
  EXPECT_FALSE(IsSameSecret("abcd", "abc"));
  EXPECT_FALSE(IsSameSecret("", "a"));
}

TEST(ServeHost, IsANameOfThisMachineWhateverThePort) {
  const auto access = MakeAccess("t", "127.0.0.1", 8000, "Node17.cluster.example");
  for (const char* host :
       {"localhost", "localhost:8000", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000", "localhost."}) {
    EXPECT_TRUE(AllowsHost(access, host)) << host;
  }
  for (const char* host : {"", ":8000", "[::1", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                           "node17", "10.0.0.1", "localhost@evil.example", "xlocalhost"}) {
    EXPECT_FALSE(AllowsHost(access, host)) << host;
  }
}

TEST(ServeHost, MayBeTheNodeWhenItIsListenedOn) {
  const auto access = MakeAccess("t", "10.0.0.7", 8000, "Node17.cluster.example");
  for (const char* host : {"node17:8000", "node17.cluster.example", "10.0.0.7:8000", "localhost"}) {
    EXPECT_TRUE(AllowsHost(access, host)) << host;
  }
  EXPECT_FALSE(AllowsHost(access, "10.0.0.8"));
  const auto everywhere = MakeAccess("t", "0.0.0.0", 8000, "node17");
  EXPECT_TRUE(AllowsHost(everywhere, "10.0.0.8:8000"));
  EXPECT_TRUE(AllowsHost(everywhere, "[fe80::1]:8000"));
  EXPECT_FALSE(AllowsHost(everywhere, "evil.example"));
}

TEST(ServeHost, IsLoopbackOnlyForAddressesOfThisMachine) {
  EXPECT_TRUE(IsLoopback("127.0.0.1"));
  EXPECT_TRUE(IsLoopback("127.3.2.1"));
  EXPECT_TRUE(IsLoopback("::1"));
  EXPECT_FALSE(IsLoopback("0.0.0.0"));
  EXPECT_FALSE(IsLoopback("10.0.0.1"));
}

TEST(ServeCookie, IsThatOfThisPort) {
  const auto access = MakeAccess("secret", "127.0.0.1", 8000, "node17");
  EXPECT_TRUE(AllowsCookie(access, "slipway-8000=secret"));
  EXPECT_TRUE(AllowsCookie(access, "a=b; slipway-8000=old; slipway-8000=secret"));
  for (const char* header : {"", ";;;", "slipway-8000", "slipway-8000=", "slipway-8000=secret2", "slipway-8001=secret",
                             "xslipway-8000=secret", "secret"}) {
    EXPECT_FALSE(AllowsCookie(access, header)) << header;
  }
}

}  // namespace
}  // namespace slipway::launcher
