// Where munge's socket is.

#include "launcher/cluster/module/munge.h"

#include <gtest/gtest.h>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

TEST(Munge, SocketIsAmongTheWordsOfAuthInfo) {
  EXPECT_EQ(MungeSocketIn("socket=/run/a,cred_expire=5"), "/run/a");
  EXPECT_EQ(MungeSocketIn("cred_expire=5,socket=/run/a"), "/run/a");
  EXPECT_EQ(MungeSocketIn("cred_expire=5,ttl=3"), "");
  EXPECT_EQ(MungeSocketIn("x_socket=/run/a"), "");
  EXPECT_EQ(MungeSocketIn(""), "");
  EXPECT_EQ(MungeSocketIn(",,socket="), "");
}

TEST(Munge, IsNotAskedWhereSlurmDoesNotUseIt) { CheckMunge("auth/slurm", "socket=/nowhere"); }

TEST(Munge, ThatIsNotThereIsNamedAtOnce) {
  try {
    CheckMunge("auth/munge", "socket=/nowhere/munge");
  } catch (const SlurmError& error) {
    EXPECT_EQ(error.trouble(), SlurmTrouble::kAuthentication);
    EXPECT_NE(error.message().find("/nowhere/munge"), std::string::npos) << error.message();
    return;
  }
  GTEST_SKIP() << "libmunge.so.2 is not installed";
}

}  // namespace
}  // namespace slipway::launcher
