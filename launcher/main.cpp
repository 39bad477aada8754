#include "core/descriptor_limit.h"
#include "launcher/cli/command_line.h"

int main(int argc, char** argv) {
  slipway::RaiseDescriptorLimit();
  return slipway::launcher::RunCommandLine(argc, argv);
}
