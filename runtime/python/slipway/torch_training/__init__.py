"""What trainings in PyTorch need beside the exchange of gradients. slipway.torch shows it to programs."""
