// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/sources/cpp_file.hpp"
#include "harness/sources/cpp_units.hpp"
#include "harness/sources/linked_sources.hpp"

namespace stepleak {

/// A block of a file.
struct CppBlockAt {
  const CppFile* file = nullptr;
  int index = -1;

  [[nodiscard]] const CppBlock& block() const { return file->block(index); }
  auto operator<=>(const CppBlockAt&) const = default;
};

/// A place in the sources.
struct TokenAt {
  const CppFile* file = nullptr;
  std::size_t token = 0;

  bool operator==(const TokenAt&) const = default;
};

/// How much is read at most. A project that is larger is one of which a part is not seen.
struct ProjectLimits {
  std::size_t files = 4000;
  std::size_t bytes = std::size_t{64} << 20;
};

/// The C++ sources that belong together with some of them: all below the outermost folder around each that a build or a
/// version control system marks (meson.build, CMakeLists.txt, .git and the like), or, where there is none, those of its
/// own folder. Folders of builds, of other projects' sources and hidden ones are left out. So are those that are
/// compiled by themselves into other programs than the one that runs, where it names all that the files were, with the
/// headers that only these include.
///
/// All of them are read and taken apart when the project is made: of 20,000 lines in some 20 ms.
class CppProject {
 public:
  /// `linked`: what the program that runs was compiled from; empty where that is not known.
  explicit CppProject(const std::vector<std::string>& files, ProjectLimits limits = {}, SourceNames linked = {});

  /// Null where it is none of the project's.
  [[nodiscard]] const CppFile* file(const std::string& path) const;
  /// Where a name stands.
  [[nodiscard]] const std::vector<TokenAt>& uses(std::string_view name) const;
  /// Functions and types of a name.
  [[nodiscard]] const std::vector<CppBlockAt>& functions(std::string_view name) const;
  [[nodiscard]] const std::vector<CppBlockAt>& types(std::string_view name) const;
  /// What may be called by a variable: lambdas, and functions whose names are handed on ("on_step(&log_step)").
  [[nodiscard]] const std::vector<CppBlockAt>& callbacks() const { return callbacks_; }
  /// Whether a name stands in what a macro is defined as, which no preprocessor puts into its place here.
  [[nodiscard]] bool is_in_macro(std::string_view name) const { return macro_names_.contains(name); }
  /// Whether what one file declares may be known in the other: where both may be parts of one translation unit.
  [[nodiscard]] bool may_share_unit(const CppFile& one, const CppFile& other) const {
    return units_.may_share(one.path(), other.path());
  }
  /// Whether all sources were read.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  template <typename Value>
  using ByName = std::unordered_map<std::string_view, std::vector<Value>>;

  struct Source {
    std::string path;
    std::string text;
  };

  void read_folder(const std::string& folder, bool with_folders, const ProjectLimits& limits,
                   std::vector<Source>& sources, std::set<std::string>& left_out);
  void read(const std::string& path, const ProjectLimits& limits, std::vector<Source>& sources);
  static void drop_headers_of(const std::set<std::string>& left_out, const std::vector<std::string>& files,
                              std::vector<Source>& sources);
  void add(Source source);
  void add_names(const CppFile& file);
  void add_functions_handed_on();

  std::map<std::string, std::unique_ptr<CppFile>> files_;
  ByName<TokenAt> uses_;
  ByName<CppBlockAt> functions_;
  ByName<CppBlockAt> types_;
  std::vector<CppBlockAt> callbacks_;
  std::set<std::string, std::less<>> macro_names_;
  CppUnits units_;
  SourceNames linked_;
  std::set<std::string> read_;
  std::size_t bytes_ = 0;
  bool is_whole_ = true;
};

}  // namespace stepleak
