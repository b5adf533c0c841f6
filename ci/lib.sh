# shellcheck shell=bash
# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts of ci/ share: plain messages, errors with a remedy, root rights, and the choice of the interpreter.
# To be sourced; leaves the caller in the repository root.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT" || exit 3

# A build that cannot be made is no verdict: the same code as the CLI's "harness failure".
readonly kSetupFailed=3

# Read by the scripts that source this file.
# shellcheck disable=SC2034
BUILD_DIR="${BUILD_DIR:-build}"

# --- messages ---------------------------------------------------------------------------------------------------------

# Colours only on a terminal: logs and CI get plain lines.
if [[ -t 2 && -z ${NO_COLOR:-} ]]; then
  kBold=$'\e[1m' kRed=$'\e[31m' kPlain=$'\e[0m'
else
  kBold='' kRed='' kPlain=''
fi

# All messages go to stderr, so that a script's stdout is only its answer (ci/python prints a path).
step() { printf '%s==> %s%s\n' "$kBold" "$*" "$kPlain" >&2; }
say() { printf '    %s\n' "$*" >&2; }

# remedy WHAT_IS_WRONG WHAT_TO_DO...: ends the script; each further argument is a line of the remedy.
remedy() {
  printf '%serror:%s  %s\n' "$kRed" "$kPlain" "$1" >&2
  shift
  local lead='remedy:'
  for line in "$@"; do
    printf '%-7s %s\n' "$lead" "$line" >&2
    lead=''
  done
  exit "$kSetupFailed"
}

# help_of SCRIPT: the script's header comment, from its fifth line on (after the two SPDX lines), is its help.
help_of() { awk 'NR > 4 && !/^#/ { exit } NR > 4 { sub(/^# ?/, ""); print }' "$1"; }

# cores: what this process may use. nproc takes the limits of OpenMP for its own, which are not meant for compilers.
cores() { env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc; }

# Seconds since the epoch with a fraction, and the difference to now with one decimal.
now() { printf '%s' "$EPOCHREALTIME"; }
since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", to - from }'; }

# --- rights -----------------------------------------------------------------------------------------------------------

# Fills the array `as_root` with the prefix that gives root rights; fails where there are none. sudo may ask for a
# password only on a terminal: without one it would wait for ever.
# shellcheck disable=SC2034
find_root_rights() {
  if [[ $EUID -eq 0 ]]; then
    as_root=()
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  elif command -v sudo >/dev/null && [[ -t 0 ]]; then
    as_root=(sudo)
  else
    return 1
  fi
}

# --- further libraries ------------------------------------------------------------------------------------------------

# STEPLEAK_PREFIX=DIR (default: .prefix, where it exists) hands over libraries that the system lacks: DIR/include,
# DIR/lib, DIR/lib/pkgconfig. Put last on each path that has a default, so that it adds and never replaces.
use_prefix() {
  local prefix="${STEPLEAK_PREFIX:-$ROOT/.prefix}"
  if [[ ! -d $prefix ]]; then
    [[ -z ${STEPLEAK_PREFIX:-} ]] || remedy "STEPLEAK_PREFIX=$prefix is no folder" "name a folder with include/ and lib/, or unset it"
    return 0
  fi
  prefix="$(cd "$prefix" && pwd)"
  export STEPLEAK_PREFIX="$prefix"
  export CMAKE_PREFIX_PATH="${CMAKE_PREFIX_PATH:+$CMAKE_PREFIX_PATH:}$prefix"
  export CPLUS_INCLUDE_PATH="${CPLUS_INCLUDE_PATH:+$CPLUS_INCLUDE_PATH:}$prefix/include"
  local lib
  for lib in "$prefix/lib" "$prefix/lib/$(uname -m)-linux-gnu" "$prefix/share"; do
    [[ ! -d $lib/pkgconfig ]] || export PKG_CONFIG_PATH="${PKG_CONFIG_PATH:+$PKG_CONFIG_PATH:}$lib/pkgconfig"
    [[ $lib != "$prefix/share" && -d $lib ]] || continue
    export LIBRARY_PATH="${LIBRARY_PATH:+$LIBRARY_PATH:}$lib"
    export LDFLAGS="${LDFLAGS:+$LDFLAGS }-Wl,-rpath,$lib"
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$lib"
  done
}

# --- the compiler -----------------------------------------------------------------------------------------------------

# use_ccache COMPILER [FOLDER]: exports CXX, with ccache before it where there is one: meson adds that only where CXX is
# unset. FOLDER: what is compiled lies below it, by default the repository.
use_ccache() {
  export CXX="$1"
  if command -v ccache >/dev/null && [[ $CXX != *ccache* ]]; then CXX="ccache $CXX"; fi
  # Absolute include paths would keep ccache from serving what another clone compiled.
  export CCACHE_BASEDIR="${2:-${CCACHE_BASEDIR:-$ROOT}}"
  # Nor would the name of the build folder, which only debug information has: all of them lie beside each other, and
  # their sources are named relative to them.
  export CCACHE_NOHASHDIR=true
  # ccache refuses precompiled headers unless it is told that __TIME__ and macros defined before them do not matter.
  export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
}

# --- the interpreter --------------------------------------------------------------------------------------------------

readonly kVenv="$ROOT/.venv"

# python_report PYTHON RULE: lines "KIND<tab>TEXT", see ci/check_python.py; fails where PYTHON does not do.
# -P or -I would hide the packages that a user put on PYTHONPATH, so the interpreter is asked as it will be used.
python_report() { PYTHONDONTWRITEBYTECODE=1 "$1" ci/check_python.py "$2" 2>/dev/null; }

# choose_python: prints the interpreter to build with and for, or fails where none is complete. First of:
#   1. $STEPLEAK_PYTHON, taken at its word (ci/setup says what it lacks)
#   2. .venv, when it holds every pin of ci/requirements.txt
#   3. python3 on PATH, when it already has torch 2.11, meson, ninja and pybind11: a machine without network
choose_python() {
  local report
  if [[ -n ${STEPLEAK_PYTHON:-} ]]; then
    command -v "$STEPLEAK_PYTHON" || return 1
    return 0
  fi
  if [[ -x $kVenv/bin/python ]] && python_report "$kVenv/bin/python" ci/requirements.txt >/dev/null; then
    printf '%s\n' "$kVenv/bin/python"
    return 0
  fi
  if command -v python3 >/dev/null && report="$(python_report python3 own)"; then
    # python3 may be a launcher (pyenv): ask it who it is. An activated .venv that lost a pin is to be completed.
    report="$(awk -F'\t' '$1 == "executable" { print $2 }' <<<"$report")"
    [[ $report != "$kVenv"/* ]] || return 1
    printf '%s\n' "$report"
    return 0
  fi
  return 1
}

# use_python PYTHON: puts the interpreter's own meson and ninja first on PATH.
use_python() {
  local scripts
  scripts="$("$1" -c 'import sysconfig; print(sysconfig.get_path("scripts"))')" || return 1
  export PATH="$scripts:$PATH"
}

# hold_instructions: has oneDNN use what any machine has, so that baselines hold on all: what a step takes at its peak
# depends on the instructions that it finds.
hold_instructions() {
  export ONEDNN_MAX_CPU_ISA="${ONEDNN_MAX_CPU_ISA:-AVX2}"
}

# style_bin PYTHON: the folder that holds the style tools: those of .venv, or of a venv
# of their own beside a foreign interpreter.
style_bin() {
  if [[ $1 == "$kVenv"/* ]]; then
    printf '%s\n' "$kVenv/bin"
  else
    printf '%s\n' "$ROOT/.cache/style-venv/bin"
  fi
}
