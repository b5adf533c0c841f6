// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/trace/device.hpp"
#include "harness/trace/kind.hpp"
#include "harness/trace/verdict.hpp"

namespace stepleak {

/// A step with a known truth. One mechanism a file, beside its clean twin.
struct Scenario {
  std::string name;    ///< `<mechanism>` or `<mechanism>_clean`, unique over C++ and Python
  std::string story;   ///< one paragraph: what the code does and why it leaks or does not
  std::string report;  ///< the report it reproduces: "owner/repo#N"
  std::string file;    ///< source file, relative to the repository root
  Verdict expected = Verdict::clean;
  std::vector<Kind> kinds;             ///< for a leak: the kinds that are right; the first is the best
  std::vector<std::string> lines{};    ///< for a leak: text of the lines that are right, each in one line of the file
  std::vector<std::string> holders{};  ///< for a leak: pieces of the holder's path that are right; none in C++
  double bytes_per_step = -1;          ///< for a leak: rate known by construction; -1: not known
  std::string not_yet{};  ///< what would be needed for the right verdict, where a run is known not to reach it
  std::vector<std::string> needs{};  ///< libraries that its set-up imports; none in C++
  std::string missing{};             ///< those of them that are not installed here: "timm, torchvision"
  bool needs_cuda = false;
  int min_gpus = 0;

  /// Does the set-up on a device and returns the step; the step's captures are torn down with it.
  std::function<std::function<void()>(Device)> set_up;
};

/// The C++ scenarios, in order of registration. Python's are found by their files.
/// Throws when a name is registered twice, naming both files.
class ScenarioRegistry {
 public:
  static ScenarioRegistry& instance();
  void add(Scenario scenario);
  [[nodiscard]] const std::vector<Scenario>& all() const { return scenarios_; }

 private:
  std::vector<Scenario> scenarios_;
};

/// Registers a scenario at load time: `const Registration kLeak{{.name = "...", ...}};`
struct Registration {
  explicit Registration(Scenario scenario);
};

}  // namespace stepleak
