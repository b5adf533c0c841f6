// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

/// What a file of known leaks (docs/known-leaks.md) says of results.
struct KnownLeaks {
  std::vector<bool> is_known;               ///< of each result: it leaks, and all of its findings are known
  std::vector<std::vector<bool>> findings;  ///< of each result: which of its findings are
  std::vector<std::string> lines;           ///< as a person reads them: what is known, matched nothing, has expired
  bool has_expired = false;                 ///< an entry has: the build shall fail until somebody looks

  [[nodiscard]] bool excuses(std::size_t result) const { return result < is_known.size() && is_known[result]; }
  [[nodiscard]] std::vector<bool> findings_of(std::size_t result) const {
    return result < findings.size() ? findings[result] : std::vector<bool>();
  }
};

/// Usage errors where the file cannot be read or is wrong; an empty name knows nothing.
[[nodiscard]] KnownLeaks known_leaks(const std::string& file, const std::vector<const Result*>& results);

/// Throws what known_leaks() would throw of this file: before minutes of work, not after.
void check_known(const std::string& file);

/// The file's new text with an entry for each finding of the results that it has none for; it can be read again.
[[nodiscard]] std::string with_known(const std::string& file, const std::vector<const Result*>& results,
                                     const std::string& reason, const std::string& link, const std::string& expires);

}  // namespace stepleak
