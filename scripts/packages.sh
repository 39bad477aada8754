# shellcheck shell=bash disable=SC2034
# The one list of the Debian packages that Slipway needs, and the function that installs what is missing.
# Sourced by ./quickstart and ./check; reference platform: Debian 12.

packages_build=(
  g++ cmake ninja-build pkg-config git
  mold                    # links in a tenth of the time; any other linker does
  libopenmpi-dev openmpi-bin libhwloc-dev
  libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libpcre2-dev
  libsqlitecpp-dev libsqlite3-dev
  libncurses-dev          # slipway watch
  libboost-dev libeigen3-dev liblbfgspp-dev  # ensembles: Sobol points, models, their best places; serve: Boost.Beast
  librandom123-dev        # ensembles: random numbers without a state
  libhdf5-dev zlib1g-dev libminizip-dev libarchive-dev libprotozero-dev libturbojpeg0-dev
  libsodium-dev           # staging across nodes: the proofs of the group's key
  libcurl4-openssl-dev    # notifications to webhooks
  libslurm-dev            # optional: the module for libslurm
  libgit2-dev             # optional: runs record the state of their program's repository
)

packages_trainers=(
  libtorch-dev
  libopenblas0-serial     # by name: the reference BLAS that also satisfies libtorch is 40 times slower
  python3-torch python3-numpy  # the same trainers in Python
  dataset-fashion-mnist   # 60,000 + 10,000 labelled images in idx files
)

packages_tests=(
  ccache                  # builds again what has not changed in seconds
  libgtest-dev libgmock-dev librapidcheck-dev
  python3 python3-jsonschema python3-yaml python3-optuna python3-pytest sqlite3 procps jq
  tmux                    # slipway watch in a real terminal
  python3-pyflakes        # repo rule: undefined names, unused imports
  mkdocs mkdocs-material  # the site of docs/
  chromium chromium-driver python3-selenium  # the site and reports in a browser
  python3-plotly          # slipway bench report: Optuna's plots
  codespell               # repo rule: misspelled words
  graphviz                # its pictures: docs/pictures/draw
  python3-h5py            # HDF5 files by another writer
  python3-scipy           # by name: the quasi-random sampler of Optuna, with which ours are compared
  python3-h5py python3-pil  # data files and pictures that others write
  python3-cloudpickle python3-pandas  # slipway.launch: closures, frames
  openssh-server openssh-client rsync  # slipway --on: another machine is sshd on loopback
  mpich libmpich-dev      # the other MPI: libslipway is built for both when both are there
  libsimgrid-dev          # slipway bench simulate
  clang libclang-rt-14-dev  # libFuzzer
  munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins iproute2  # tests/slurm: a Slurm of several nodes
  slurmdbd mariadb-server slurm-wlm-mysql-plugin  # tests/slurm: what a site remembers of its jobs
  charliecloud            # ranks in containers: ch-run needs neither root nor a daemon
  podman runc             # the same by podman, where the machine lets it
  libpmix-dev             # by name: srun --mpi=pmix loads a link that only this package has
  libamdhip64-dev         # declarations of HIP are compared with its header; its library is one without a GPU
)

# missing_packages NAME...: prints those that are not installed, one a line.
missing_packages() {
  local installed
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${binary:Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed \([^:]*\).*/\1/p') || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed" | sort -u)
}

# as_root COMMAND...: runs it as root; asks for nothing when we are root already.
as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# ensure_packages GROUP...: installs what is missing of the groups build, trainers and tests.
ensure_packages() {
  local group wanted=() missing=()
  for group in "$@"; do
    local -n names="packages_$group"
    wanted+=("${names[@]}")
  done

  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "No Debian package tools here, so nothing is installed. The build needs the equivalents of:" >&2
    printf '  %s\n' "${wanted[*]}" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  if ((${#missing[@]} == 0)); then
    echo "All ${#wanted[@]} packages are installed."
    return 0
  fi

  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
    echo "error: this needs root, and there is no sudo here. As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    return 3
  fi
  as_root apt-get update -q </dev/null ||
    echo "warning: the package lists could not be refreshed; trying with those that are here" >&2
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "${missing[@]}" </dev/null; then
    echo "error: apt-get could not install all of: ${missing[*]}" >&2
    echo "  next: read its message above; Slipway is built and tested on Debian 12" >&2
    return 3
  fi
}
