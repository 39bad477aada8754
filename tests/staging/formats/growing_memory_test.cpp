#include "staging/formats/growing_memory.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "tests/support/fake_memory.h"

namespace slipway::staging {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMib = 1 << 20;

std::string WordsIn(const GrowingMemory& memory) {
  return {reinterpret_cast<const char*>(memory.bytes().data()), memory.bytes().size()};
}

void Append(GrowingMemory& memory, const std::string& text) { memory.Append(std::as_bytes(std::span(text))); }

TEST(GrowingMemory, KeepsWhatIsInItWhileItGrows) {
  GrowingMemory memory;
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const std::string piece(100'000, static_cast<char>('a' + i));
    Append(memory, piece);
    expected += piece;
  }
  EXPECT_TRUE(WordsIn(memory) == expected);
}

TEST(GrowingMemory, IsEmptyAfterItWasMoved) {
  GrowingMemory memory;
  Append(memory, "one");
  auto other = std::move(memory);
  EXPECT_EQ(WordsIn(other), "one");
  EXPECT_TRUE(memory.bytes().empty());  // NOLINT(bugprone-use-after-move): it says so
  Append(memory, "two");
  other = std::move(memory);
  EXPECT_EQ(WordsIn(other), "two");
}

TEST(GrowingMemory, LooksAtTheMemoryLeftBeforeItGrowsByALargePiece) {
  test::FakeMemory machine(1000 * 1024);
  GrowingMemory memory(machine.sources());
  Append(memory, std::string(64 * kMib, 'x'));
  machine.SetAvailable(30 * 1024);
  try {
    Append(memory, std::string(kMib, 'y'));  // half as much again is wanted
    FAIL() << "32 MiB were taken where 30 are left";
  } catch (const MemoryError& error) {
    EXPECT_THAT(error.message(), HasSubstr("the decompressed content of a file"));
  }
  EXPECT_EQ(memory.bytes().size(), 64 * kMib);
  machine.SetAvailable(100 * 1024);
  Append(memory, "y");
  EXPECT_EQ(memory.bytes().back(), std::byte{'y'});
}

}  // namespace
}  // namespace slipway::staging
