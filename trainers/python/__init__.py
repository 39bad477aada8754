"""The bundled trainers in PyTorch: the same models, options and data order as the programs in C++.

    train: {command: [python3, -m, slipway.trainers.hepcnn], args: {epochs: 3}}
"""
