// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/package_script.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/errors.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/cli/layout.hpp"

namespace stepleak {

std::string output_of_script(const std::string& script, const std::vector<std::string>& arguments,
                             const std::string& what, const std::string& input) {
  const auto& python = layout().python;
  std::vector<std::string> words{python, "-I", (layout().package_folder / "stepleak" / script).string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto answer = run_program(words, input);
  if (!answer.is_success()) {
    throw failure_error(fmt::format("{}: {}", what, answer.error),
                        answer.remedy.empty() ? repair_of_python(layout(), python) : answer.remedy);
  }
  return std::move(answer.output);
}

}  // namespace stepleak
