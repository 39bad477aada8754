# Which tests run when, in one table. ./check runs the default tier, ./check --full both.
#
#   full("<pattern>" "<why>")              only ./check --full runs these
#   slow("<pattern>" <seconds> "<why>")    of the default tier, with a larger budget than the usual 20 s
#   waits("<pattern>" "<why>")             hardly computes, so it runs beside others
#
# A budget is for a quiet machine of two cores. A test is ended after three times its budget, since machines differ and are
# not always quiet; ./check marks those of its slowest tests that took more than their budget.
#
# Each core has two slots: a test takes both, one of several ranks takes those of two cores, one that waits takes one.
#
# A pattern is a regular expression for the name of a test as ctest lists it. The first entry that matches counts; a test
# that none matches is in the default tier. repo.tiers holds the table against what ctest knows of the tests.

set(SLIPWAY_DEFAULT_SECONDS 20)
set(SLIPWAY_PATIENCE 3)  # the limit of a test is this many times its budget
set(tier_patterns "")
set(tier_seconds "")  # of the default tier; empty: full
function(full pattern why)
  set(tier_patterns ${tier_patterns} "${pattern}" PARENT_SCOPE)
  set(tier_seconds ${tier_seconds} full PARENT_SCOPE)
endfunction()
function(slow pattern seconds why)
  set(tier_patterns ${tier_patterns} "${pattern}" PARENT_SCOPE)
  set(tier_seconds ${tier_seconds} ${seconds} PARENT_SCOPE)
endfunction()

set(waiting_patterns "")
function(waits pattern why)
  set(waiting_patterns ${waiting_patterns} "${pattern}" PARENT_SCOPE)
endfunction()

# MPI: 1 and 3 ranks of the default MPI, and one suite of the other.
full("^runtime_(mpi|collectives)_tests\\.[2456789]$" "1 and 3 ranks of each suite are in the default tier")
full("^runtime_mpi_tests\\.(on_pretended_nodes|without_shared_memory)\\.4$" "three ranks are in the default tier")
full("^runtime_device_tests\\.on_pretended_nodes$" "long messages between nodes; three ranks of one node are in the default tier")
full("^runtime_device_tests(\\.events)?\\.schedules$" "10,000 schedules; 60 of them are in the default tier")
full("^runtime_device_tests\\.on_pretended_nodes\\.schedules$" "500 schedules, between nodes; 60 of one node are in the default tier")
full("^runtime_gpu_faults_tests\\.without_cu(Mem(Free|cpy|set)|Ctx|Device|IpcOpen|IpcClose|Module|Launch)" "one function of each kind is in the default tier")
full("^runtime_device_bugs$" "compiles a library and runs the tests of the exchange for each of some hundred bugs")
full("^runtime_nccl_tests\\.schedules$" "300 schedules; 20 of them are in the default tier")
full("^runtime_hip_device_tests\\.3$" "two ranks are in the default tier")
full("^runtime_(mpi|life)_tests_mpich\\." "runtime_collectives_tests_mpich stands for MPICH; its waits never yield")
slow("^runtime_python\\.torch_backend_(reductions|works|ddp)_test\\.2$" 60 "importing torch on two ranks takes half of it")
slow("^runtime_python\\.checkpoint_programs_test$" 60 "starts programs of two and three ranks again and again, each with torch")
full("^runtime_python\\.torch_backend_" "each rank imports torch; three files are in the default tier")
full("^runtime_python(_mpich)?\\..*\\.[24]$" "1 and 3 ranks of each file are in the default tier")
slow("^runtime_python\\.(torch|horovod)_test\\.3$" 60 "importing torch on three ranks takes half of it")
full("^runtime_python\\.(torch|cray_torch|horovod|horovod_modules)_test\\." "each rank imports torch; three ranks of two files are in the default tier")
full("^runtime_python\\.programs_test$" "trains whole programs, several with torch")

slow("^staging_python\\.data_(formats|torch)_test$" 60 "imports torch, and each loader with workers forks them")

# Trainers: each trained once, at its smallest.
slow("^trainers_runs\\.configs$" 60 "trains each bundled trainer once on made data")
full("^trainers_runs\\." "every file trains many times")
full("^trainers\\.(bench|python_trainer|twins)_test$" "trains in C++ and in PyTorch, and compares")
full("^(Jobs/|Images/)?Fashion(Resumes|ThatRepeats|Checkpoint|EndsAtItsLimit|Stops|ThatHasNothingLeftToTrain)\\." "trains up to its checkpoints and goes on")
full("^Fashion(Order|OrderOfACheckpoint|Predictions)\\." "trains several times to compare")
slow("^Fashion\\.(LearnsAndReportsEverythingTheLauncherShows|TrainsOnTwoRanksFromStagedData)$" 60 "trains on Fashion-MNIST, loading libtorch")
full("^Fashion\\." "one training on one rank and one on two are in the default tier")

# Slurm: submission, an ensemble, a lost node, a burst buffer.
slow("^slurm\\.(engine|job_trials|nodes|burst_run)$" 240 "runs a whole Slurm of several nodes")
full("^slurm\\." "four files are in the default tier; one Slurm at a time fits the machine")
full("^RealSlurm\\." "each test starts a Slurm of its own; slurm.engine runs in the default tier")

# Pages.
full("^repo\\.site_browser$" "starts a browser; repo.site checks the same pages as files")
slow("^end_to_end\\.documents_test$" 60 "builds and runs the programs of seven pages on two ranks")
slow("^end_to_end\\.docs_pages\\.Readme$" 60 "trains with libtorch on two ranks")
full("^end_to_end\\.docs_pages\\.(FirstRun|Tutorials|HowTo|Others)$" "runs every command of the other pages; their options are checked in the default tier")

# Kills, faults and searches at a length that shows something.
slow("^end_to_end\\.provenance_test$" 80 "twenty repeats of a run, and some forty runs more")
slow("^end_to_end\\.usage_test$" 40 "some runs; two wait for a driver that hangs")
slow("^end_to_end\\.sums_test$" 60 "starts two ranks of Python seven times")
slow("^end_to_end\\.hdf5_test$" 120 "reads hundreds of damaged files; some keep HDF5 busy until a limit ends it")
full("^fuzz\\.[a-z-]+$" "libFuzzer runs each target for seven seconds; seeds are in the default tier")
full("LearningSamplers\\.(AreBetterThanChance|GiveTheSameAskAfterARestart)/(gp|portfolio)" "hundreds of asks of a Gaussian process")
full("^Ensemble\\.LosesNothingWhereverItsManagerKillsItself$" "kills a manager at each of its steps")
full("^RandomPrograms\\.500\\." "500 programs on each disk; 40 of them are in the default tier")
slow("^end_to_end\\.(notify|export|find_runs)_test$" 60 "dozens of runs; some notifications wait for servers that never answer")
slow("^end_to_end\\.launch(_checkpoint|_map|_experiment)?_test$" 80 "dozens of jobs, each a new Python; some reach time limits")
slow("^end_to_end\\.remote_test$" 60 "dozens of commands over ssh")
slow("^end_to_end\\.workflow_orphans_test$" 60 "dozens of workflows; some wait for limits and kills")
slow("^OnADisk/RandomPrograms\\." 60 "40 programs on a slow and on a full disk")
slow("^(Days/SteppedClock|FullDisk)\\." 60 "waits for others as long as they take")
full("^StageOutRun\\.FinishesAfterTheManagerWasKilled$" "kills a manager ten times")

# The report: the page opens in a browser in the default tier.
full("^report\\.(interaction|live)$" "report.page opens the same page in a browser")

waits("^slurm\\.(limits|limits_long|outages|outages_long|hang|endings|node_shares)$" "Slurm looks at its clock every half minute, and has to find that a node is lost")

# slipway_slots_of(<test> <result>): how many slots of a core it takes, where its folder does not say it.
function(slipway_slots_of test result)
  set(${result} 2 PARENT_SCOPE)
  foreach(pattern IN LISTS waiting_patterns)
    if(test MATCHES "${pattern}")
      set(${result} 1 PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# slipway_tier_of(<test> <result>): "full", or the budget of a test of the default tier in seconds.
function(slipway_tier_of test result)
  foreach(pattern seconds IN ZIP_LISTS tier_patterns tier_seconds)
    if(test MATCHES "${pattern}")
      set(${result} ${seconds} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} ${SLIPWAY_DEFAULT_SECONDS} PARENT_SCOPE)
endfunction()

# slipway_place_test(<test> <labels> <seconds> [<slots>]): `seconds` is its time limit in the full tier; a sanitizer
# takes SLIPWAY_SLOWDOWN times as long.
function(slipway_place_test test labels seconds)
  slipway_slots_of("${test}" slots)
  if(ARGN)
    set(slots ${ARGN})
  endif()
  slipway_tier_of("${test}" tier)
  list(FIND labels long is_long)  # ctest reads this file, too, and knows no newer way to ask
  if(tier STREQUAL "full")
    list(APPEND labels full)
  elseif(is_long EQUAL -1)
    math(EXPR seconds "${tier} * ${SLIPWAY_PATIENCE}")
    if(SLIPWAY_SLOWDOWN)
      math(EXPR seconds "${seconds} * ${SLIPWAY_SLOWDOWN}")
    endif()
  endif()
  # The longest begin first, so that none is left alone at the end.
  set_tests_properties("${test}" PROPERTIES LABELS "${labels}" TIMEOUT ${seconds} COST ${seconds}
                                              PROCESSORS ${slots})
endfunction()
