/// The command-line arguments that all trainers share.
#pragma once

#include <cstdint>
#include <string>

#include "trainers/common/learning_rate.h"
#include "trainers/common/options.h"

namespace trainers {

/// The values here are the starting point of a trainer's own defaults.
struct Arguments {
  std::int64_t epochs = 3;
  std::int64_t batch_size = 0;         ///< records per rank and backward pass; 0: not given
  std::int64_t usual_batch_size = 64;  ///< where neither is given
  std::int64_t global_batch_size = 0;  ///< records per step over all ranks; 0: not given. Give only one of the two
  LearningRate rate;
  std::string optimizer = "adam";  ///< adam, sgd, lamb
  double momentum = 0.9;           ///< of sgd
  double weight_decay = 0;
  double trust = 0;                 ///< trust coefficient of LARC or LARS; 0: neither
  std::int64_t trust_clip = 1;      ///< 1: LARC, at most the learning rate; 0: LARS
  double ema = 0;                   ///< decay of the averaged weights; 0: weights are not averaged
  std::int64_t seed = 1;            ///< of the first weights and of the order of the records
  std::int64_t report_every = 10;   ///< steps between reports of the loss
  std::int64_t train_records = 0;   ///< train on the first so many only; 0 = all
  std::string precision = "fp32";   ///< of forward and backward passes: fp32, bf16, fp16
  double loss_scale = 0;            ///< first factor of the loss; 0: 65536 with fp16, else losses are not scaled
  std::string device = "auto";      ///< that computes: auto, cpu, cuda
  std::int64_t threads = 1;         ///< for libtorch
  std::int64_t reader_threads = 1;  ///< that prepare batches
  std::int64_t predictions = 1;     ///< 1: write the outputs for the validation records
};

/// `records` is the trainer's word for them ("images"): the option is --train_<records>.
void AddCommonOptions(OptionList& options, Arguments& arguments, const std::string& records);

}  // namespace trainers
