// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "harness/trace/recording.hpp"

namespace stepleak {

/// What the sources say of one step; the survivor is made at the line marked "// made", where "// made by Net" stands
/// by a constructor of that class which the compiler makes, by a function that the macro in the line of "// macro"
/// makes, by one in whose line "// call" stands.
struct SourceCase {
  std::string name;
  std::string source;
  StructureType type = StructureType::unknown;
  std::string holder;  ///< empty: none is found
  std::int64_t bound = -1;
  bool is_lambda = false;
  bool has_graph = true;
};

void PrintTo(const SourceCase& tried, std::ostream* out);

class SourceFolder {
 public:
  SourceFolder();
  SourceFolder(const SourceFolder&) = delete;
  SourceFolder& operator=(const SourceFolder&) = delete;
  ~SourceFolder();
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::string path_;
};

/// The number of the first line that has `mark`; 0: none has.
int line_with(const std::string& source, const std::string& mark);

/// Of 18 steps of the source in `file`, each with a survivor.
Recording recording_of(const SourceCase& tried, const std::string& file);

class SourceHoldersTest : public testing::TestWithParam<SourceCase> {};

/// A trainer that keeps its losses in kLosses, with a statement in its step, and with more of its class.
std::string trainer(const std::string& statement, const std::string& more = "");

inline constexpr auto kLosses = "Trainer::losses_ (std::vector<at::Tensor>) -> Tensor";

/// A test whose step does `statements`, with others before it.
std::string test_with(const std::string& before, const std::string& statements);

}  // namespace stepleak
