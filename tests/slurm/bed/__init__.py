"""The Slurm test bed: munge, slurmctld and N slurmd on one machine.

cli         the command line
plan        what a bed will be: names, addresses, ports, folders (pure)
config      the files that Slurm reads (pure)
machine     can this machine do it, and if not, why
claims      the number that keeps beds side by side apart
folders     where everything is
processes   children: started, ended by id, none forgotten
network     the switch between the nodes
nodes       a node in namespaces of its own, or a plain slurmd
lives       for the length of a command, or in the background
supervisor  the one process that owns a bed: brings up, serves orders, takes down
control     how another process gives it orders
"""
