#include "staging/dataset/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "staging/dataset/append_text.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kJournalSchema = "slipway.journal/1";
constexpr std::size_t kCrcDigits = 8;

void AddBody(std::string& line, const JournalHead& head) {
  line.append(kJournalSchema) += ' ';
  AppendHex(line, head.plan_crc);
  AppendNumber(line += ' ', head.files);
}
void AddBody(std::string& line, const JournalStart& start) {
  AppendNumber(line += "start ", start.file);
  AppendNumber(line += ' ', start.ctime_ns);
}
void AddBody(std::string& line, const JournalBlock& block) {
  AppendNumber(line += "block ", block.file);
  AppendNumber(line += ' ', block.block);
  AppendHex(line += ' ', block.crc32c);
}

void AddList(std::string& line, const std::vector<std::uint32_t>& crcs) {
  if (crcs.empty()) line += '-';
  for (std::size_t i = 0; i < crcs.size(); ++i) AppendHex(i == 0 ? line : line += ',', crcs[i]);
}

void AddDifferences(std::string& line, const std::vector<std::uint64_t>& offsets) {
  if (offsets.empty()) line += '-';
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    AppendNumber(i == 0 ? line : line += ',', offsets[i] - last);
    last = offsets[i];
  }
}

void AddBody(std::string& line, const JournalDone& done) {
  AppendNumber(line += "done ", done.file);
  line += ' ';
  done.records ? AppendNumber(line, *done.records) : line.push_back('-');
  AddList(line += ' ', done.crc32c);
  AddDifferences(line += ' ', done.offsets);
  AppendNumber(line += ' ', done.end);
}

/// One line, with its CRC and its newline.
void AddLine(std::string& text, const JournalEntry& entry) {
  const auto begin = text.size();
  std::visit([&](const auto& body) { AddBody(text, body); }, entry);
  const auto crc = Crc32c(std::string_view(text).substr(begin));
  AppendHex(text += ' ', crc);
  text += '\n';
}

bool ReadBody(LineWords& fields, JournalHead& head) {
  fields.Read(head.plan_crc, 16);
  fields.Read(head.files);
  return fields.AtEnd();
}

bool ReadBody(LineWords& fields, JournalStart& start) {
  fields.Read(start.file);
  fields.Read(start.ctime_ns);
  return fields.AtEnd();
}

bool ReadBody(LineWords& fields, JournalBlock& block) {
  fields.Read(block.file);
  fields.Read(block.block);
  fields.Read(block.crc32c, 16);
  return fields.AtEnd();
}

bool ReadCrcs(std::string_view word, std::vector<std::uint32_t>& crcs) {
  LineWords list(word == "-" ? std::string_view() : word);
  while (!list.AtEnd() && list.good()) list.Read(crcs.emplace_back(), 16, ',');
  return list.good();
}

bool ReadOffsets(std::string_view word, std::vector<std::uint64_t>& offsets) {
  LineWords list(word == "-" ? std::string_view() : word);
  std::uint64_t last = 0;
  while (!list.AtEnd() && list.good()) {
    std::uint64_t difference = 0;
    list.Read(difference, 10, ',');
    offsets.push_back(last += difference);
  }
  return list.good();
}

bool ReadBody(LineWords& fields, JournalDone& done) {
  fields.Read(done.file);
  const auto records = fields.Word();
  if (records != "-") LineWords(records).Read(done.records.emplace());
  const auto crcs = fields.Word();
  const auto offsets = fields.Word();
  fields.Read(done.end);
  return fields.AtEnd() && ReadCrcs(crcs, done.crc32c) && ReadOffsets(offsets, done.offsets);
}

std::string ReadFrom(int fd, std::uint64_t offset, const std::filesystem::path& path) {
  constexpr std::size_t kPiece = 1 << 16;
  std::string text;
  while (true) {
    const auto held = text.size();
    text.resize(held + kPiece);
    const auto count = ReadUpTo(fd, offset + held, std::as_writable_bytes(std::span(text)).subspan(held), path);
    text.resize(held + count);
    if (count < kPiece) return text;
  }
}

template <class Entry>
std::optional<JournalEntry> Parse(LineWords& fields) {
  Entry entry;
  if (!ReadBody(fields, entry)) return {};
  return entry;
}

/// What stands for megabytes is written at once: a system call is nothing beside them.
bool IsWorthAWrite(const JournalEntry& entry) {
  const auto* done = std::get_if<JournalDone>(&entry);
  return std::holds_alternative<JournalBlock>(entry) || (done != nullptr && done->crc32c.size() > 1);
}

}  // namespace

std::string RenderJournalEntry(const JournalEntry& entry) {
  std::string line;
  AddLine(line, entry);
  return line;
}

std::optional<JournalEntry> ParseJournalEntry(std::string_view line) {
  if (line.size() < kCrcDigits + 1 || line[line.size() - kCrcDigits - 1] != ' ') return {};
  const auto body = line.substr(0, line.size() - kCrcDigits - 1);
  if (line.substr(line.size() - kCrcDigits) != fmt::format("{:08x}", Crc32c(body))) return {};
  LineWords fields(body);
  const auto kind = fields.Word();
  if (kind == kJournalSchema) return Parse<JournalHead>(fields);
  if (kind == "start") return Parse<JournalStart>(fields);
  if (kind == "block") return Parse<JournalBlock>(fields);
  if (kind == "done") return Parse<JournalDone>(fields);
  return {};
}

JournalWriter::JournalWriter(std::filesystem::path path, const JournalHead& head, std::uint64_t keep)
    : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_NOFOLLOW)) {
  CheckErrno(::ftruncate(fd_.get(), static_cast<off_t>(keep)), fmt::format("cannot cut '{}'", path_.string()));
  CheckErrno(::lseek(fd_.get(), 0, SEEK_END), fmt::format("cannot append to '{}'", path_.string()));
  Append(head);
  Flush();
}

void JournalWriter::Append(const JournalEntry& entry) {
  constexpr std::size_t kEnough = 4096;
  constexpr auto kMoment = std::chrono::milliseconds(20);
  const std::lock_guard guard(mutex_);
  AddLine(waiting_, entry);
  const bool is_start = std::holds_alternative<JournalStart>(entry);  // says nothing by itself: it waits for more
  if (IsWorthAWrite(entry) || waiting_.size() >= kEnough || (!is_start && SystemClock().Steady() - written_ >= kMoment))
    WriteOut();
}

void JournalWriter::Flush() {
  const std::lock_guard guard(mutex_);
  WriteOut();
}

void JournalWriter::WriteOut() {
  WriteAll(fd_.get(), waiting_, path_);
  waiting_.clear();
  written_ = SystemClock().Steady();
}

std::vector<JournalEntry> JournalReader::Next() {
  std::vector<JournalEntry> entries;
  if (damaged_) return entries;
  if (!fd_) fd_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd_ && errno == ENOENT) return entries;
  if (!fd_) ThrowErrno(fmt::format("cannot open '{}' for reading", path_.string()));
  const auto text = ReadFrom(fd_.get(), consumed_, path_);
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
    auto entry = ParseJournalEntry(std::string_view(text).substr(begin, end - begin));
    damaged_ = !entry;
    if (damaged_) break;
    entries.push_back(std::move(*entry));
    begin = end + 1;
  }
  consumed_ += begin;
  return entries;
}

}  // namespace slipway::staging
