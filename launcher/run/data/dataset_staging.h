/// The staging of one dataset of a run: its own thread copies it; it is published or streamed.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "core/progress.h"
#include "launcher/run/data/background_staging.h"
#include "launcher/spec/spec.h"
#include "staging/dataset/journal.h"
#include "staging/plan/plan.h"
#include "staging/stream/stream_stager.h"

namespace slipway::launcher {

class DatasetStaging {
 public:
  /// `link_root`, `found`: of StageOptions. `readers`: the maximum number of simultaneous readers of a stream.
  DatasetStaging(const staging::StagingPlan& plan, const DatasetSpec& spec, std::filesystem::path link_root,
                 staging::FoundFiles found, std::size_t readers);

  const staging::StagingPlan& plan() const { return plan_; }
  const DatasetSpec& spec() const { return spec_; }
  bool is_stream() const { return plan_.layout == staging::Layout::kStream; }
  /// The ranks need not wait for all of it.
  bool may_be_early() const;

  /// `on_news`: as of BackgroundStaging.
  void Start(EventLoop& loop, Output& output, std::function<void()> on_news);
  /// Take or Abandon has not yet waited for its thread.
  bool under_way() const { return work_ != nullptr; }
  bool ended() const { return !work_ || work_->ended(); }
  /// Whether the ranks can start: all of it is there, or an early start is allowed and the first file is there.
  bool IsReady();
  void ShowProgress();

  void Cancel();
  /// When ended(). Errors: those of staging, naming the dataset.
  void Take();
  /// Cancels, waits, and releases what it holds.
  void Abandon();

  /// The dataset's directory for the ranks.
  std::filesystem::path directory() const;
  /// The published dataset; its lease is held.
  const std::optional<staging::StagedDataset>& staged() const { return staged_; }
  staging::StreamFigures figures() const;
  /// HDF5 datasets whose own checksums could not be compared.
  std::vector<staging::Hdf5Unread> unread() const;

 private:
  bool has_begun() const;
  staging::StagedDataset Work(const staging::StageOptions& options);

  staging::StagingPlan plan_;
  const DatasetSpec& spec_;
  std::filesystem::path link_root_;
  staging::FoundFiles found_;
  std::size_t readers_;
  Output* output_ = nullptr;
  bool ready_ = false;
  std::optional<staging::JournalReader> journal_;
  std::optional<staging::StagedDataset> staged_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<staging::StreamStager> stager_;
  std::atomic<const staging::StreamStager*> streaming_ = nullptr;
  std::unique_ptr<BackgroundStaging> work_;  // ends before what it uses
};

}  // namespace slipway::launcher
