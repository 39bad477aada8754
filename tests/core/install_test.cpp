#include "core/install.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/process.h"

namespace slipway {
namespace {

TEST(Install, FindsItsPartsFromTheRunningProgram) {
  EXPECT_EQ(HelperProgram("slipway-rank"), InstallPrefix() / "libexec/slipway/slipway-rank");
  EXPECT_EQ(LibraryDirectory(), InstallPrefix() / "lib");
  EXPECT_EQ(SharedDirectory(), InstallPrefix() / "share/slipway");
  EXPECT_TRUE(LiesWithin(std::filesystem::read_symlink("/proc/self/exe"), InstallPrefix()));
}

TEST(Install, KnowsItsVersion) {
  EXPECT_EQ(std::count(Version().begin(), Version().end(), '.'), 2);
  EXPECT_FALSE(SourceRevision().empty());
}

}  // namespace
}  // namespace slipway
