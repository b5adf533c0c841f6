// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/user_frames.hpp"

#include <algorithm>
#include <array>

namespace stepleak {

bool is_user_frame(const Frame& frame) {
  const std::string_view file = frame.file;
  if (file.empty() || file == "??" || frame.line <= 0) return false;
  static constexpr std::array<std::string_view, 13> kForeign{"/site-packages/torch/",
                                                             "/dist-packages/torch/",
                                                             "/torch/include/",
                                                             "/usr/include/",
                                                             "/usr/lib/",
                                                             "/build/glibc",
                                                             "/c++/",
                                                             "/sysdeps/",
                                                             "<frozen ",
                                                             "<string>",
                                                             "/nptl/",
                                                             "pybind11/",
                                                             "../csu/"};
  const auto is_in = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
  if (std::any_of(kForeign.begin(), kForeign.end(), is_in)) return false;
  // Our own frames, wherever the tree or the package lies.
  static constexpr std::array<std::string_view, 10> kOwn{
      "harness/api/",     "harness/cli/",     "harness/gtest/",
      "harness/probes/",  "harness/python/",  "harness/runner/",
      "harness/session/", "python/stepleak/", "scenarios/cpp/scenario_of.hpp",
      "gtest/gtest.h"};
  if (std::any_of(kOwn.begin(), kOwn.end(), is_in)) return false;
  // Python's own library, by its folder: ".../python3.12/contextlib.py".
  const auto python = file.find("/lib/python3");
  return python == std::string_view::npos || is_in("-packages/");
}

}  // namespace stepleak
