#include "staging/dataset/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/files.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const JournalHead kHead{0xdeadbeef, 2};
const JournalStart kStart{1, -5};
const JournalBlock kBlock{1, 7, 0x0000abcd};
const JournalDone kDone{1, 3, {1, 2}, {0, 100, 250}, 300};

class JournalTest : public ::testing::Test {
 protected:
  std::vector<JournalEntry> ReadAll() const { return JournalReader(path_).Next(); }
  void WriteAllKinds() const {
    JournalWriter writer(path_, kHead);
    writer.Append(kStart);
    writer.Append(kBlock);
    writer.Append(kDone);
    writer.Flush();
  }

  TemporaryDirectory files_;
  fs::path path_ = files_ / ".journal";
};

TEST_F(JournalTest, ReadsWhatWasAppended) {
  WriteAllKinds();
  EXPECT_THAT(ReadAll(),
              ElementsAre(JournalEntry(kHead), JournalEntry(kStart), JournalEntry(kBlock), JournalEntry(kDone)));
}

TEST_F(JournalTest, KeepsEmptyListsAndLargeNumbers) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  for (const JournalEntry& entry :
       {JournalEntry(JournalDone{0, {}, {}, {}, 0}), JournalEntry(JournalDone{kMost, 0, {}, {}, kMost}),
        JournalEntry(JournalBlock{kMost, kMost, 0xffffffff})}) {
    auto line = RenderJournalEntry(entry);
    line.pop_back();
    EXPECT_EQ(ParseJournalEntry(line), entry) << line;
  }
}

TEST_F(JournalTest, IgnoresATornLineWhereverItIsTorn) {
  WriteAllKinds();
  const auto whole = ReadFile(path_);
  const auto last = whole.rfind("done");
  for (auto size = last; size < whole.size(); ++size) {
    WriteFile(path_, whole.substr(0, size));
    JournalReader reader(path_);
    EXPECT_EQ(reader.Next().size(), 3u) << size;
    EXPECT_EQ(reader.consumed(), last);
  }
}

TEST_F(JournalTest, StopsForGoodAtAChangedByte) {
  WriteAllKinds();
  const auto whole = ReadFile(path_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    WriteFile(path_, changed);
    EXPECT_LT(ReadAll().size(), 4u) << at;
  }
}

TEST_F(JournalTest, AReaderFollowsAWriterThatCutsATornLine) {
  WriteAllKinds();
  const auto whole = ReadFile(path_).size();
  WriteFile(path_, ReadFile(path_) + "block 1 2 00");
  JournalReader reader(path_);
  EXPECT_EQ(reader.Next().size(), 4u);
  JournalWriter writer(path_, kHead, whole);
  writer.Append(kBlock);
  writer.Flush();
  EXPECT_THAT(reader.Next(), ElementsAre(JournalEntry(kHead), JournalEntry(kBlock))) << "who takes over says so";
  EXPECT_FALSE(reader.damaged());
}

TEST_F(JournalTest, AJournalThatIsNotThereHasNoEntries) { EXPECT_THAT(ReadAll(), IsEmpty()); }

}  // namespace
}  // namespace slipway::staging
