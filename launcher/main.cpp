#include "core/descriptor_limit.h"
#include "core/write_signals.h"
#include "launcher/cli/command_line.h"

int main(int argc, char** argv) {
  slipway::RaiseDescriptorLimit();
  slipway::IgnoreFileSizeSignal();
  return slipway::launcher::RunCommandLine(argc, argv);
}
