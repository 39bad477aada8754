/// The main function of every trainer. Includes libtorch's tensors.
#pragma once

#include "trainers/common/task.h"

namespace trainers {

/// Exit code: 0 done or stopped as asked, 1 failed, 2 wrong usage, 75 at the limit of its scheduler and ready to
/// continue.
int TrainerMain(Task& task, int argc, char** argv);

}  // namespace trainers
