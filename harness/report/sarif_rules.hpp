// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stepleak {

/// What a rule of a SARIF file is called and says.
struct SarifRule {
  std::string id;
  std::string description;
};

/// One for each kind, then those of results without a finding; the same in every file.
[[nodiscard]] const std::vector<SarifRule>& sarif_rules();

}  // namespace stepleak
