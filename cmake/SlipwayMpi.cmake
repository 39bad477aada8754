# The MPIs that libslipway is built for: the default one, and the other of Open MPI and MPICH when it is there, too.
# Never both in one target: their mpi.h have nothing in common but the names.
#
#   SLIPWAY_MPIS              those found, the default first: openmpi, mpich (which stands for all of its ABI)
#   slipway_mpi_<mpi>         its headers and its library
#   SLIPWAY_MPIEXEC_<mpi>     the words that start ranks on this machine; their number follows. Empty: no mpiexec found
#   SLIPWAY_MPI_SUFFIX_<mpi>  of the targets that exist once for each MPI: nothing for the default one, else _<mpi>

set(SLIPWAY_DEFAULT_MPI "" CACHE STRING "The MPI behind lib/libslipway.so: openmpi, mpich, or nothing: as found")
set_property(CACHE SLIPWAY_DEFAULT_MPI PROPERTY STRINGS "" openmpi mpich)

# Which MPI's header it is, and of which version.
function(slipway_identify_mpi include_directories mpi_out version_out)
  find_file(header mpi.h PATHS ${include_directories} ${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES} NO_DEFAULT_PATH NO_CACHE)
  if(NOT header)
    message(FATAL_ERROR "there is no mpi.h in ${include_directories}")
  endif()
  file(STRINGS "${header}" lines REGEX "^ *# *define +(O?MPI(CH)?_(MAJOR_|MINOR_|RELEASE_)?VERSION|OPEN_MPI) ")
  if(lines MATCHES "OPEN_MPI 1")
    set(mpi openmpi)
    string(REGEX REPLACE ".*OMPI_MAJOR_VERSION ([0-9]+).*OMPI_MINOR_VERSION ([0-9]+).*OMPI_RELEASE_VERSION ([0-9]+).*"
                         "Open MPI \\1.\\2.\\3" version "${lines}")
  else()
    set(mpi mpich)
    string(REGEX REPLACE ".*MPICH_VERSION +\"([^\"]*)\".*" "MPICH \\1" version "${lines}")
  endif()
  set(${mpi_out} ${mpi} PARENT_SCOPE)
  set(${version_out} "${version}" PARENT_SCOPE)
endfunction()

# slipway_add_mpi(<mpi> <mpiexec> <libraries to link>). Open MPI must be told about root, and about more ranks than
# cores.
macro(slipway_add_mpi mpi mpiexec)
  add_library(slipway_mpi_${mpi} INTERFACE)
  target_link_libraries(slipway_mpi_${mpi} INTERFACE ${ARGN})
  # The C interface only: without this, mpi.h would pull in the C++ bindings that the standard has dropped.
  target_compile_definitions(slipway_mpi_${mpi} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(SLIPWAY_MPIEXEC_${mpi} "")
  if("${mpi}" STREQUAL openmpi AND NOT "${mpiexec}" MATCHES "NOTFOUND$")
    set(SLIPWAY_MPIEXEC_${mpi} ${mpiexec} --allow-run-as-root --oversubscribe -n)
  elseif(NOT "${mpiexec}" MATCHES "NOTFOUND$")
    set(SLIPWAY_MPIEXEC_${mpi} ${mpiexec} -n)
  endif()
  set(SLIPWAY_MPI_SUFFIX_${mpi} "_${mpi}")
  list(APPEND SLIPWAY_MPIS ${mpi})
endmacro()

# The words of a compiler wrapper, as include directories and full paths of libraries.
function(slipway_ask_mpi_compiler compiler include_directories_out libraries_out)
  execute_process(COMMAND "${compiler}" -show OUTPUT_VARIABLE line RESULT_VARIABLE status ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${compiler} -show failed: it is no MPI compiler wrapper")
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  set(kinds "-I" "-L" "-l")
  foreach(kind IN LISTS kinds)
    set(found${kind} ${words})
    list(FILTER found${kind} INCLUDE REGEX "^${kind}")
    list(TRANSFORM found${kind} REPLACE "^${kind}" "")
  endforeach()
  set(libraries "")
  foreach(name IN LISTS found-l)
    unset(library)
    find_library(library ${name} HINTS ${found-L} NO_CACHE REQUIRED)
    list(APPEND libraries "${library}")
  endforeach()
  set(${include_directories_out} "${found-I}" PARENT_SCOPE)
  set(${libraries_out} "${libraries}" PARENT_SCOPE)
endfunction()

# The default one, in every way that CMake knows to find an MPI.
set(wanted ${SLIPWAY_DEFAULT_MPI})
if(NOT wanted)
  set(wanted openmpi)
endif()
find_program(MPI_C_COMPILER NAMES mpicc.${wanted} mpicc)
find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.${wanted} mpiexec)
find_package(MPI REQUIRED COMPONENTS C)
slipway_identify_mpi("${MPI_C_INCLUDE_DIRS}" default version)
if(SLIPWAY_DEFAULT_MPI AND NOT SLIPWAY_DEFAULT_MPI STREQUAL default)
  message(FATAL_ERROR "SLIPWAY_DEFAULT_MPI is ${SLIPWAY_DEFAULT_MPI}, but what is found is ${version} "
                      "(${MPI_C_COMPILER}): set MPI_C_COMPILER and MPIEXEC_EXECUTABLE, in a fresh build directory")
endif()
set(SLIPWAY_MPIS "")
slipway_add_mpi(${default} "${MPIEXEC_EXECUTABLE}" MPI::MPI_C)
set(SLIPWAY_MPI_SUFFIX_${default} "")

# The other one.
set(other mpich)
if(default STREQUAL mpich)
  set(other openmpi)
endif()
find_program(SLIPWAY_OTHER_MPICC mpicc.${other} DOC "The other MPI's compiler wrapper; libslipway is built for it, too")
find_program(SLIPWAY_OTHER_MPIEXEC mpiexec.${other} DOC "The other MPI's mpiexec, for tests")
if(SLIPWAY_OTHER_MPICC)
  slipway_ask_mpi_compiler("${SLIPWAY_OTHER_MPICC}" includes libraries)
  slipway_identify_mpi("${includes}" found other_version)
  if(NOT found STREQUAL other)
    message(FATAL_ERROR "SLIPWAY_OTHER_MPICC is ${other_version}, as the default one: name the compiler of ${other}")
  endif()
  slipway_add_mpi(${other} "${SLIPWAY_OTHER_MPIEXEC}" ${libraries})
  target_include_directories(slipway_mpi_${other} SYSTEM INTERFACE ${includes})
  message(STATUS "libslipway is built for ${version} (the default) and ${other_version}")
else()
  message(STATUS "libslipway is built for ${version} only: mpicc.${other} is not there (SLIPWAY_OTHER_MPICC)")
endif()
