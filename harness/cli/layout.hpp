// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace stepleak {

/// Where the parts of the command line lie, and what its host adds.
struct Layout {
  std::filesystem::path package_folder;      ///< holds the Python package stepleak/
  std::filesystem::path observing;           ///< the library that faces torch
  std::filesystem::path compiled_scenarios;  ///< what the C++ scenarios of a build declare; empty: there are none
  std::filesystem::path suite;               ///< the checkout whose scenarios and baselines are meant; empty: none
  std::string python;                        ///< the interpreter; STEPLEAK_PYTHON goes before
  std::string repair;                        ///< what to do where a part is missing
  bool starts_in_workers = false;            ///< the host has no torch yet, and is not to have it: see server_start.hpp
  std::vector<std::string> set_for_import;   ///< variables that the host set: see unset_for_import()
  /// Makes the interpreter's symbols, or torch, be there; gives another library than `observing`, or nothing.
  std::function<std::filesystem::path()> before_observing;
};

/// Where they lie beside the calling program or library: one definition a kind of installation (tree_layout.cpp,
/// package_layout.cpp, prefix_layout.cpp), chosen by the build.
[[nodiscard]] Layout own_layout();

/// What to do where an interpreter does not do: names the variable that chose it, if one has.
[[nodiscard]] inline std::string repair_of_python(const Layout& layout, const std::string& python) {
  for (const auto* name : {"PYTHONEXECUTABLE", "STEPLEAK_PYTHON"}) {
    const auto* chosen = std::getenv(name);
    if (chosen != nullptr && python == chosen) {
      return std::string(name) + " names that interpreter: name one that has torch, or unset it";
    }
  }
  return layout.repair;
}

/// Called by the host, once and before all.
void set_layout(Layout layout);
[[nodiscard]] const Layout& layout();

/// Takes what was set for the import of torch alone out of the environment: what a script is run by, and another start
/// of ours, have the user's.
void unset_for_import();

}  // namespace stepleak
