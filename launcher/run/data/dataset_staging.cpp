#include "launcher/run/data/dataset_staging.h"

#include <fmt/format.h>

#include "core/error.h"
#include "staging/generation/generation.h"
#include "staging/reader/sharding.h"
#include "staging/stream/count_records.h"

namespace slipway::launcher {

using staging::StageOptions;

DatasetStaging::DatasetStaging(const staging::StagingPlan& plan, const DatasetSpec& spec,
                               std::filesystem::path link_root, staging::FoundFiles found, std::size_t readers)
    : plan_(plan), spec_(spec), link_root_(std::move(link_root)), found_(std::move(found)), readers_(readers) {}

/// What is read in place has nothing to arrive.
bool DatasetStaging::may_be_early() const { return is_stream() || (spec_.overlap && !staging::ReadsInPlace(plan_)); }

void DatasetStaging::Start(EventLoop& loop, Output& output, std::function<void()> on_news) {
  output_ = &output;
  StageOptions options;
  options.link_root = link_root_;
  options.found = found_;
  options.bandwidth = plan_.bandwidth;
  if (may_be_early()) {
    options.order = staging::FileOrder(plan_.files.size(), spec_.seed, 0);
    // The files share the rate: one after the other, the first is there soonest.
    if (plan_.bandwidth.count > 0) options.files_at_once = 1;
  }
  progress_ = std::make_unique<Progress>(output, "staging " + spec_.name, plan_.total);
  work_ = std::make_unique<BackgroundStaging>(
      loop, std::move(options), [this](const StageOptions& given) { return Work(given); }, std::move(on_news));
}

staging::StagedDataset DatasetStaging::Work(const StageOptions& options) {
  if (may_be_early()) {
    const auto when = is_stream() ? staging::CountWhen::kAlways : staging::CountWhen::kCheap;
    staging::CountRecords(plan_, when, options.cancelled);
  }
  if (!is_stream()) return staging::Stage(plan_, options);
  stager_ = std::make_unique<staging::StreamStager>(plan_, spec_.seed, readers_);
  streaming_ = stager_.get();
  stager_->Run(options);
  return {};
}

/// This run, or another one that it waits for, is at work on the private directory.
bool DatasetStaging::has_begun() const { return work_->progress().total.count > 0; }

bool DatasetStaging::IsReady() {
  if (ready_ || !work_) return true;
  if (is_stream()) {
    const auto* stager = streaming_.load();
    ready_ = stager != nullptr && stager->figures().copies > 0;
  } else if (may_be_early()) {
    if (!has_begun()) return false;  // the journal there may be that of a run that was killed
    if (!journal_) {
      const auto directory = staging::Generation(plan_.root, plan_.generation).Private();
      journal_.emplace(directory / staging::kJournalName);
    }
    for (const auto& entry : journal_->Next()) {
      if (std::holds_alternative<staging::JournalHead>(entry)) ready_ = false;
      if (std::holds_alternative<staging::JournalDone>(entry)) ready_ = true;
    }
  }
  return ready_;
}

void DatasetStaging::ShowProgress() {
  const auto now = work_->progress();
  if (is_stream()) return output_->Progress(fmt::format("streaming {}  {}", spec_.name, FormatBytes(now.done)));
  progress_->Update(now.done, now.current);
}

void DatasetStaging::Cancel() { work_->Cancel(); }

void DatasetStaging::Take() {
  const auto work = std::move(work_);
  progress_.reset();
  staged_ = WithContext(fmt::format("while staging dataset '{}'", spec_.name), [&] { return work->Take(); });
}

void DatasetStaging::Abandon() {
  work_.reset();
  progress_.reset();
  streaming_ = nullptr;
  stager_.reset();
  staged_.reset();
}

staging::StreamFigures DatasetStaging::figures() const {
  const auto* stager = streaming_.load();
  return stager != nullptr ? stager->figures() : staging::StreamFigures{};
}

std::vector<staging::Hdf5Unread> DatasetStaging::unread() const {
  if (const auto* stager = streaming_.load()) return stager->unread();
  return staged_ && staged_->own_sums ? staged_->own_sums->unread : std::vector<staging::Hdf5Unread>{};
}

std::filesystem::path DatasetStaging::directory() const {
  if (const auto* stager = streaming_.load()) return stager->directory();
  return staged_ ? staged_->directory : plan_.directory;
}

}  // namespace slipway::launcher
