# shellcheck shell=bash
# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
#
# Environments with a release of torch, for ci/torch-versions and ci/wheel. To be sourced after ci/lib.sh.

# check_releases VERSION...: ends the script where one is no release of torch.
check_releases() {
  local version
  for version in "$@"; do
    [[ $version =~ ^[0-9]+(\.[0-9]+){2}$ ]] || remedy "'$version' is no release of torch" "name it in full, as in 2.15.0"
  done
}

# make_environment PYTHON VERSION FOLDER LOG: torch from the registry, and what ci/requirements.txt pins besides. CUDA's
# crt headers are no dependency of torch; before CUDA 13 Triton carries them.
make_environment() {
  local base="$1" version="$2" folder="$3" log="$4" cuda
  local python="$folder/bin/python"
  "$python" -c '' 2>/dev/null || "$base" -m venv --clear "$folder" || return
  grep -vE '^(torch|nvidia-cuda-crt)==' ci/requirements.txt >"$folder/requirements.txt"
  "$python" -m pip install --quiet --no-cache-dir "torch==$version" -r "$folder/requirements.txt" >"$log" 2>&1 || return
  cuda="$("$python" ci/torch/torch_facts.py | sed -n 3p)"
  [[ ${cuda%%.*} -lt 13 ]] || "$python" -m pip install --quiet --no-cache-dir "nvidia-cuda-crt==$cuda.*" >>"$log" 2>&1
}
