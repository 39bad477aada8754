# Everything comes from the system; nothing is downloaded at configure time.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(Boost REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)

include(SlipwayMpi)
include(SlipwaySlurm)

set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 REQUIRED COMPONENTS C)

find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(LIBGIT2 IMPORTED_TARGET libgit2)

# Linked in where there is an archive of it: each shared library is one more to load at every start.
find_library(MINIZIP_LIBRARY NAMES libminizip.a minizip REQUIRED)
find_path(MINIZIP_INCLUDE_DIR minizip/unzip.h REQUIRED)
find_library(LIBARCHIVE_LIBRARY NAMES libarchive.a archive REQUIRED)
find_path(LIBARCHIVE_INCLUDE_DIR archive.h REQUIRED)
find_library(NCURSESW_LIBRARY NAMES libncursesw.a ncursesw REQUIRED)
find_library(TINFO_LIBRARY NAMES libtinfo.a tinfo REQUIRED)
find_path(NCURSES_INCLUDE_DIR curses.h REQUIRED)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)

add_library(slipway_curses INTERFACE)
target_include_directories(slipway_curses SYSTEM INTERFACE "${NCURSES_INCLUDE_DIR}")
target_link_libraries(slipway_curses INTERFACE "${NCURSESW_LIBRARY}" "${TINFO_LIBRARY}")
