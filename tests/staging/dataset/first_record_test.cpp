#include "staging/dataset/first_record.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "staging/convert/convert.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/staging/records_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FirstRecord, HasTheSameFieldsInBothFormats) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 8);
  const auto shards = Convert({source.images, source.labels, directory / "out/train", DataFormat::kTfrecord, 2, {}});
  Convert({source.images, source.labels, directory / "train.h5", DataFormat::kHdf5, 1, {}});
  const auto first = ReadFirstRecord(shards.files.at(0));
  EXPECT_EQ(first.format, DataFormat::kTfrecord);
  EXPECT_EQ(first.kind, RecordKind::kExample);
  EXPECT_EQ(first.records, 4u);
  const auto file = OpenHdf5(directory / "train.h5");
  const auto& datasets = file->Datasets();
  ASSERT_EQ(first.fields.size(), datasets.size());
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    EXPECT_EQ(first.fields[i].name, FieldInfoOf(datasets[i]).name);
    EXPECT_EQ(first.fields[i].kind, FieldInfoOf(datasets[i]).kind);
    EXPECT_EQ(first.fields[i].count, FieldInfoOf(datasets[i]).count);
  }
  EXPECT_THAT(FieldInfoOf(datasets[0]).shape, ElementsAre(2, 3));
  EXPECT_EQ(BytesIn(directory / "out", "image"), BytesIn(directory / "train.h5", "image"));
  EXPECT_EQ(IntsIn(directory / "out", "label"), IntsIn(directory / "train.h5", "label"));
}

TEST(FirstRecord, OfATableHasItsShapes) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.npz", ZipText({{"y.npy", NpyText("|u1", "(2, 3)", "abcdef")},
                                          {"x.npy", NpyText("<f4", "(2,)", std::string(8, '\0'))}},
                                         false));
  const auto first = ReadFirstRecord(directory / "a.npz");
  EXPECT_EQ(first.format, DataFormat::kNumpy);
  EXPECT_EQ(first.records, 2u);
  EXPECT_FALSE(first.kind);
  ASSERT_EQ(first.fields.size(), 2u);
  EXPECT_EQ(first.fields[0].name, "x");
  EXPECT_EQ(first.fields[0].kind, FeatureKind::kFloat);
  EXPECT_EQ(first.fields[0].count, 1u);
  EXPECT_EQ(first.fields[1].name, "y");
  EXPECT_EQ(first.fields[1].kind, FeatureKind::kBytes);
  EXPECT_THAT(first.fields[1].shape, ElementsAre(3));
}

TEST(FirstRecord, NamesTheFileThatHasNone) {
  const test::TempDirectory directory;
  const auto refusal = [&](const char* name) {
    return std::string(ErrorOf([&] { ReadFirstRecord(directory / name); }).what());
  };
  WriteFile(directory / "empty.tfrecord", "");
  EXPECT_THAT(refusal("empty.tfrecord"), HasSubstr("empty.tfrecord' has no records"));
  WriteFile(directory / "notes.txt", "text");
  EXPECT_THAT(refusal("notes.txt"), HasSubstr("notes.txt' is neither TFRecord"));
  MakeTfrecords(directory / "text.tfrecord", {"no Example"});
  EXPECT_THAT(refusal("text.tfrecord"),
              AllOf(HasSubstr("not a tf.train.Example"), HasSubstr("text.tfrecord': record 0")));
  WriteFile(directory / "torn.tfrecord", TfrecordText({ImageExample(4, 0)}).substr(0, 20));
  EXPECT_THAT(refusal("torn.tfrecord"), HasSubstr("torn.tfrecord': record 0"));
}

}  // namespace
}  // namespace slipway::staging
