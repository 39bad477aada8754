#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "staging/plan/plan.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ListSourcesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names(std::vector<std::string> sources, DataFormat format = DataFormat::kRaw) const {
    std::vector<std::string> names;
    for (const auto& file : List(std::move(sources), format)) names.push_back(file.name.string());
    return names;
  }
  static std::vector<SourceFile> List(std::vector<std::string> sources, DataFormat format = DataFormat::kRaw) {
    return ListAll(std::move(sources), format).files;
  }
  static ListedSources ListAll(std::vector<std::string> sources, DataFormat format) {
    DatasetRequest request;
    request.name = "train";
    request.sources = std::move(sources);
    request.format = format;
    return ListSources(request);
  }
  static std::string Refusal(const std::string& source) {
    return MessageOf([&] { List({source}); });
  }
  std::string At(const std::string& name) const { return (files_ / name).string(); }

  TemporaryDirectory files_;
};

TEST_F(ListSourcesTest, SortsTheFilesOfAPattern) {
  for (const auto* name : {"b-1", "b-0", "c"}) Put(At(name), "12345");
  EXPECT_THAT(Names({At("b-*")}), ElementsAre("b-0", "b-1"));
  EXPECT_EQ(List({At("c")})[0].size, Bytes{5});
}

TEST_F(ListSourcesTest, WalksADirectoryAndKeepsItsShape) {
  for (const auto* name : {"d/x/1", "d/x/y/2", "d/.hidden"}) Put(At(name), "");
  EXPECT_THAT(Names({At("d")}), ElementsAre(".hidden", "x/1", "x/y/2"));
  EXPECT_THAT(Names({At("d/")}), ElementsAre(".hidden", "x/1", "x/y/2"));
}

TEST_F(ListSourcesTest, SortsDirectoryByDirectoryAsPathsDo) {
  std::vector<fs::path> names = {"a", "a-b/1", "a.c", "b/1", "b/1.x", "b/1-x/2", "b-1", "b/\xc3\xa4", "b/z/1", "b!/1"};
  for (const auto& name : names) Put(At("d" / name), "");
  std::sort(names.begin(), names.end());
  std::vector<fs::path> found;
  for (const auto& file : List({At("d")})) found.push_back(file.name);
  EXPECT_EQ(found, names);
}

TEST_F(ListSourcesTest, TakesFromAFolderWhatHasTheFormatsNameOrContentAndNamesTheRest) {
  for (const auto* name :
       {"d/a.tfrecord", "d/t.tfrecord-00000-of-00002", "d/README", "d/.a.tfrecord.tmp", "d/x.json"}) {
    Put(At(name), "");
  }
  Put(At("d/part-3"), TfrecordText({"record"}));
  Put(At("d/.git/part-4"), TfrecordText({"record"}));
  fs::create_directory_symlink("/", At("d/link"));
  fs::create_symlink("nowhere", At("d/dangling"));
  ASSERT_EQ(::mkfifo(At("d/fifo").c_str(), 0600), 0);
  EXPECT_THAT(Names({At("d")}, DataFormat::kTfrecord),
              ElementsAre("a.tfrecord", "part-3", "t.tfrecord-00000-of-00002"));
  std::vector<std::string> left_out;
  for (const auto& file : ListAll({At("d")}, DataFormat::kTfrecord).left_out) {
    left_out.push_back(fmt::format("{} {}", file.path.filename().string(), LeftOutReasonName(file.reason)));
  }
  EXPECT_THAT(left_out,
              ElementsAre(".a.tfrecord.tmp hidden", ".git hidden", "README other_content", "dangling dangling_link",
                          "fifo not_a_file", "link link_to_folder", "x.json other_content"));
  EXPECT_THAT(MessageOf([&] { List({At("d")}, DataFormat::kHdf5); }),
              AllOf(HasSubstr("holds no hdf5 file"), HasSubstr("(README, a.tfrecord, part-3")));
}

TEST_F(ListSourcesTest, SaysWhatAllSourcesHold) {
  Put(At("d/deep/a"), TfrecordText({"record"}));
  Put(At("d/README"), "text");
  Put(At("e"), TfrecordText({"record"}));
  EXPECT_EQ(FormatsOfSources({At("d"), At("e"), At("*")}).One(), DataFormat::kTfrecord);
  EXPECT_EQ(FormatsOfSources({At("data-*.h5")}).One(), DataFormat::kHdf5);
  EXPECT_EQ(FormatsOfSources({At("d"), At("data.h5")}).One(), std::nullopt);
  EXPECT_EQ(FormatsOfSources({At("d/README")}).One(), std::nullopt);
  EXPECT_THAT(FormatsOfSources({At("d/README")}).WhyNotOne(), HasSubstr("neither names nor content"));
  EXPECT_EQ(FormatsOfSources({At("none")}).One(), std::nullopt);
  EXPECT_THAT(FormatsOfSources({At("none")}).WhyNotOne(), HasSubstr("a source has no file here"));
  EXPECT_THAT(FormatsOfSources({At("none-*")}).WhyNotOne(), HasSubstr("a source has no file here"));
  EXPECT_EQ(FormatsOfSources({At("d"), At("d/README")}).One(), std::nullopt) << "one source has no data";
}

TEST_F(ListSourcesTest, NamesTheFormatsOfAFolderThatHasSeveral) {
  Put(At("d/a.tfrecord"), TfrecordText({"record"}));
  Put(At("d/b.tfrecord"), TfrecordText({"record"}));
  Put(At("d/mean.npy"), NpyText("<f4", "(1,)", "abcd"));
  Put(At("d/picture.png"), PngText(1, 1));
  const auto formats = FormatsOfSources({At("d")});
  EXPECT_EQ(formats.One(), std::nullopt);
  EXPECT_THAT(formats.WhyNotOne(), AllOf(HasSubstr("several formats: tfrecord ('"), HasSubstr(".tfrecord'), numpy ('"),
                                         HasSubstr("d/mean.npy')"), Not(HasSubstr("picture"))));
  EXPECT_THAT(Names({At("d")}, DataFormat::kTfrecord), ElementsAre("a.tfrecord", "b.tfrecord"));
  EXPECT_THAT(Names({At("d")}, DataFormat::kNumpy), ElementsAre("mean.npy"));
}

TEST_F(ListSourcesTest, APatternMayMatchDirectories) {
  for (const auto* name : {"p0/a", "p1/a"}) Put(At(name), "");
  EXPECT_THAT(Names({At("p*")}), ElementsAre("p0/a", "p1/a"));
}

TEST_F(ListSourcesTest, AFileMayHaveTheNameOfAPattern) {
  Put(At("a[1]"), "");
  Put(At("a1"), "");
  EXPECT_THAT(Names({At("a[1]")}), ElementsAre("a[1]"));
}

TEST_F(ListSourcesTest, NamesWhatIsMissing) {
  EXPECT_THAT(Refusal(At("none")), AllOf(HasSubstr(At("none")), HasSubstr("No such file")));
  EXPECT_THAT(Refusal(At("none-*")), HasSubstr("no file matches the pattern"));
  EXPECT_THAT(Refusal(At("nowhere/*")), HasSubstr("No such file"));
}

TEST_F(ListSourcesTest, RefusesTwoFilesOfOneName) {
  Put(At("x/a"), "");
  Put(At("y/a"), "");
  EXPECT_THAT(MessageOf([&] { List({At("x/a"), At("y/a")}); }), HasSubstr("would have the same name"));
}

TEST_F(ListSourcesTest, RefusesTheNamesOfAGenerationsOwnFiles) {
  for (const char* name : {"manifest.json", "records.index", ".journal", ".listing"}) {
    Put(At("d") / fs::path(name).filename(), "{}");
    EXPECT_THAT(Refusal(At("d")), HasSubstr("keeps its own file of this name")) << name;
    fs::remove_all(At("d"));
  }
}

TEST_F(ListSourcesTest, SortsByTheComponentsOfNamesAsReadersDo) {
  Put(At("d/cat-wild/1"), "x");
  Put(At("d/cat/1"), "x");
  const auto files = List({At("d")});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "cat/1");  // as text '-' comes before '/'
}

TEST_F(ListSourcesTest, RefusesAFifo) {
  ASSERT_EQ(::mkfifo(At("fifo").c_str(), 0600), 0);
  EXPECT_THAT(Refusal(At("fifo")), HasSubstr("it is a fifo"));
}

TEST_F(ListSourcesTest, RefusesASocket) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = (files_ / "socket").string();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(Refusal(path), HasSubstr("it is a socket"));
  ::close(fd);
}

TEST_F(ListSourcesTest, RefusesADevice) { EXPECT_THAT(Refusal("/dev/null"), HasSubstr("it is a device")); }

TEST_F(ListSourcesTest, RefusesALinkThatLoops) {
  fs::create_directories(At("d"));
  fs::create_symlink("loop", At("d/loop"));
  EXPECT_THAT(Refusal(At("d")), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(ListSourcesTest, RefusesALinkToADirectoryAbove) {
  fs::create_directories(At("d/e"));
  fs::create_symlink("..", At("d/e/up"));
  EXPECT_THAT(Refusal(At("d")), HasSubstr("it is a link to a directory"));
}

TEST_F(ListSourcesTest, RefusesALinkThatLeavesTheTree) {
  Put(At("secret"), "");
  fs::create_directories(At("d"));
  fs::create_symlink(At("secret"), At("d/a"));
  EXPECT_THAT(Refusal(At("d")), AllOf(HasSubstr("is a link to"), HasSubstr("outside of")));
  EXPECT_THAT(Refusal(At("d/*")), HasSubstr("outside of"));
}

TEST_F(ListSourcesTest, FollowsLinksInsideTheTreeAndThoseNamedByTheUser) {
  Put(At("d/real"), "123");
  fs::create_symlink("real", At("d/link"));
  EXPECT_THAT(Names({At("d")}), ElementsAre("link", "real"));
  EXPECT_EQ(List({At("d/link")})[0].size, Bytes{3});
}

TEST_F(ListSourcesTest, RefusesAnUnreadableFileOrDirectory) {
  Put(At("closed"), "");
  fs::permissions(At("closed"), fs::perms::none);
  EXPECT_TRUE(AsOrdinaryUser([&] { return Refusal(At("closed")).find("cannot read") == 0; }));
  Put(At("d/a"), "");
  fs::permissions(At("d"), fs::perms::none);
  EXPECT_TRUE(AsOrdinaryUser([&] { return Refusal(At("d")).find("cannot read directory") == 0; }));
  EXPECT_TRUE(AsOrdinaryUser([&] { return Refusal(At("d/*")).find("cannot read directory") == 0; }));
  fs::permissions(At("d"), fs::perms::owner_all);
}

TEST_F(ListSourcesTest, KeepsOddNamesAndEscapesBytesThatAreNoText) {
  Put(At("d/new\nline"), "");
  Put(At("d/-dash"), "");
  Put(At("d/\xff"), "");
  EXPECT_THAT(Names({At("d")}), ElementsAre("%FF", "-dash", "new\nline"));
}

TEST_F(ListSourcesTest, TakesRecordCountsFromAManifestBesideTheFiles) {
  Put(At("d/a"), "12345");
  Put(At("d/b"), "12345");
  const auto with = [&](const std::string& bytes) {
    Put(At("d/manifest.json"),
        R"({"schema":"slipway.manifest/1","name":"train","format":"raw","verify":"off","created":"","generation":"g",)"
        R"("records":7,"bytes":5,"files":[{"path":"a","bytes":)" +
            bytes + R"(,"source":"","mtime_ns":0,"inode":0,"crc32c":[],"records":7}]})");
    return List({At("d/a"), At("d/b")});
  };
  EXPECT_EQ(with("5").at(0).records, 7u);
  EXPECT_EQ(with("5").at(1).records, std::nullopt);
  EXPECT_EQ(with("6").at(0).records, std::nullopt);  // of another state of the file
  Put(At("d/manifest.json"), "{");
  EXPECT_EQ(List({At("d/a")}).at(0).records, std::nullopt);
}

TEST_F(ListSourcesTest, RefusesARelativePath) { EXPECT_THAT(Refusal("data/x"), HasSubstr("is not an absolute path")); }

}  // namespace
}  // namespace slipway::staging
