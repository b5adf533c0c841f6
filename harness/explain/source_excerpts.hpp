// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/report/html.hpp"

namespace stepleak {

/// The lines around those that the findings name, as the files are now; without those that cannot be read.
[[nodiscard]] std::vector<SourceExcerpt> source_excerpts(const Result& result);

}  // namespace stepleak
