#include "runtime/device/loaded_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "tests/support/temp_directory.h"

namespace slipway::runtime {
namespace {

TEST(LoadedLibrary, IsNoneOfThoseThatAreOnlyInstalledOrHaveAnotherName) {
  EXPECT_EQ(PathOfLoaded(std::array{"libnosuchlibrary.so.1"}), "");
  EXPECT_EQ(PathOfLoaded(std::array{"libstdc++.so", "stdc++.so.6", ""}), "") << "a part of a name";
  EXPECT_EQ(OpenLoaded(std::array{"libnosuchlibrary.so.1"}), nullptr);
}

/// A fake driver, whose soname is libcuda.so.1, as a file of another name in a folder that nothing searches.
TEST(LoadedLibrary, IsFoundLateByItsFileOrItsSoname) {
  const test::TempDirectory folder;
  const auto path = (folder / "driver-550.so").string();
  std::filesystem::copy_file(SLIPWAY_FAKE_OLD_DRIVER, path);
  const std::array soname{"libcuda.so.1"};
  const std::array file{"driver-550.so"};
  EXPECT_EQ(PathOfLoaded(soname), "");
  EXPECT_EQ(PathOfLoaded(file), "");
  void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << ::dlerror();
  EXPECT_EQ(PathOfLoaded(soname), path);
  EXPECT_EQ(PathOfLoaded(file), path);
  EXPECT_EQ(OpenLoaded(soname), loaded);
  EXPECT_EQ(OpenLoaded(file), loaded);
}

TEST(LoadedLibrary, IsTheFirstOfSeveralNames) {
  const auto of_libc = PathOfLoaded(std::array{"libc.so.6"});
  const auto of_cpp = PathOfLoaded(std::array{"libstdc++.so.6"});
  EXPECT_TRUE(of_libc.ends_with("/libc.so.6")) << of_libc;
  EXPECT_EQ(PathOfLoaded(std::array{"libnosuchlibrary.so.1", "libc.so.6", "libstdc++.so.6"}), of_libc);
  EXPECT_EQ(PathOfLoaded(std::array{"libstdc++.so.6", "libc.so.6"}), of_cpp);
}

}  // namespace
}  // namespace slipway::runtime
