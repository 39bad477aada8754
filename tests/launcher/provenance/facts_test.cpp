// The facts of machines, interpreters and images. The files of the kernel are made by hand, as no machine has all of
// them.

#include <gtest/gtest.h>

#include <filesystem>

#include "core/files.h"
#include "launcher/provenance/container_facts.h"
#include "launcher/provenance/host_facts.h"
#include "launcher/provenance/python_facts.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

class Facts : public testing::Test {
 protected:
  void Write(const std::string& path, std::string_view text, mode_t mode = 0644) {
    fs::create_directories((root_.path() / path).parent_path());
    WriteFile(root_.path() / path, text, mode);
  }

  test::TempDirectory root_;
};

TEST_F(Facts, OfAMachineWithTwoKindsOfFiles) {
  Write("proc/cpuinfo", "processor\t: 0\nmodel name\t: EPYC 7763\n\nprocessor\t: 1\nmodel name\t: EPYC 7763\n");
  Write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  Write("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 1\n");
  Write("proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA H100\n");
  const auto facts = HostFactsOf(root_.path());
  EXPECT_EQ(facts.cpu, "EPYC 7763");
  EXPECT_EQ(facts.cpus, 2);
  EXPECT_EQ(facts.memory_bytes, 16384u * 1024);
  EXPECT_EQ(facts.gpus, (std::vector<std::string>{"NVIDIA H100", "NVIDIA H100"}));
  EXPECT_FALSE(facts.host.empty());
}

TEST_F(Facts, OfAnArmProcessorAreItsNumbers) {
  Write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  EXPECT_EQ(HostFactsOf(root_.path()).cpu, "implementer 0x41 part 0xd40");
}

TEST_F(Facts, OfAMachineWithoutSuchFilesAreEmpty) {
  const auto facts = HostFactsOf(root_.path());
  EXPECT_EQ(facts.cpu, "");
  EXPECT_EQ(facts.memory_bytes, 0u);
  EXPECT_TRUE(facts.gpus.empty());
}

TEST_F(Facts, OfAmdGpusLeaveProcessorsOut) {
  Write("sys/class/kfd/kfd/topology/nodes/0/name", "\n");
  Write("sys/class/kfd/kfd/topology/nodes/1/name", "aldebaran\n");
  EXPECT_EQ(HostFactsOf(root_.path()).gpus, std::vector<std::string>{"aldebaran"});
}

TEST_F(Facts, FindThePythonOfACommand) {
  Write("train.py", "#!/usr/bin/env python3\n", 0755);
  Write("run.sh", "#!/bin/sh\n", 0755);
  Write("binary",
        std::string_view("\x7f"
                         "ELF\0#!",
                         7),
        0755);
  const auto python_of = [&](std::vector<std::string> words) { return PythonIn(words, root_.path()).value_or(""); };
  EXPECT_EQ(python_of({"python3", "train.py"}).filename(), "python3");
  EXPECT_EQ(python_of({"./train.py"}).filename(), "python3");
  EXPECT_EQ(python_of({"./run.sh"}), "");
  EXPECT_EQ(python_of({"./binary"}), "");
  EXPECT_EQ(python_of({"pythonic"}), "");
  EXPECT_EQ(python_of({}), "");
}

TEST_F(Facts, OfAPythonThatFailsAreAWarning) {
  Write("python3", "#!/bin/sh\nexit 1\n", 0755);
  std::vector<std::string> warnings;
  EXPECT_FALSE(PythonOf({"./python3"}, root_.path(), warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("did not say its version"), std::string::npos);
}

TEST_F(Facts, OfThisPythonHaveItsVersion) {
  std::vector<std::string> warnings;
  const auto facts = PythonOf({"python3"}, root_.path(), warnings);
  ASSERT_TRUE(facts) << (warnings.empty() ? "" : warnings[0]);
  EXPECT_TRUE(facts->version.starts_with("3."));
}

TEST_F(Facts, OfASifImageAreTheIdInItsHeader) {
  std::string header(128, '\0');
  header.replace(32, 9, "SIF_MAGIC");
  for (int i = 0; i < 16; ++i) header[static_cast<std::size_t>(48 + i)] = static_cast<char>(0xf0 + i);
  Write("image.sif", header);
  EXPECT_EQ(SifIdOf(root_.path() / "image.sif"), "sif:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  Write("short.sif", header.substr(0, 50));
  EXPECT_EQ(SifIdOf(root_.path() / "short.sif"), "");
  Write("other.sif", std::string(128, 'x'));
  EXPECT_EQ(SifIdOf(root_.path() / "other.sif"), "");
}

}  // namespace
}  // namespace slipway::launcher
