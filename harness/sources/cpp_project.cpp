// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_project.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/source_root.hpp"

namespace stepleak {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 16> kEndings{".cpp", ".cc",  ".cxx", ".c++", ".C",   ".cu",  ".h",   ".hh",
                                                    ".hpp", ".hxx", ".cuh", ".inl", ".ipp", ".tpp", ".txx", ".inc"};
constexpr std::array<std::string_view, 9> kProjectMarks{
    ".git", ".hg", "meson.build", "CMakeLists.txt", "BUILD", "BUILD.bazel", "Makefile", "pyproject.toml", "setup.py"};
// Others' sources, and what a build makes.
constexpr std::array<std::string_view, 9> kForeign{"third_party", "external", "extern",       "subprojects",  "_deps",
                                                   "vendor",      "venv",     "node_modules", "site-packages"};

bool is_marked(const fs::path& folder) {
  return std::any_of(kProjectMarks.begin(), kProjectMarks.end(), [&](std::string_view mark) {
    std::error_code unusable;
    return fs::exists(folder / mark, unusable);
  });
}

// Empty where no folder around the file is marked. The root of the file system is nobody's project.
fs::path project_around(const fs::path& file) {
  fs::path found;
  for (auto folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_marked(folder)) found = folder;
  }
  return found;
}

// What watches is no part of a project in its own checkout, which scenarios and tests are.
bool is_ours(const fs::path& folder) {
  static const fs::path root = STEPLEAK_SOURCE_ROOT;
  return !root.empty() && (folder == root / "harness" || folder == root / "detectors");
}

bool is_foreign(const fs::path& folder) {
  if (is_ours(folder)) return true;
  const auto name = folder.filename().string();
  return name.starts_with('.') || name.starts_with("build") || name.starts_with("cmake-build") ||
         is_one_of(std::string_view(name), kForeign);
}

template <typename Map>
const typename Map::mapped_type& found_in(const Map& map, std::string_view name) {
  static const typename Map::mapped_type kNone;
  const auto found = map.find(name);
  return found == map.end() ? kNone : found->second;
}

// "&log_step" and "&Logger::on_step" anywhere, and "log_step" among arguments or behind a "=".
bool is_handed_on(const TokenAt& name) {
  const auto& file = *name.file;
  auto first = name.token;
  while (file.token(first - 1).is("::") && file.token(first - 2).is_name()) first -= 2;
  const auto& next = file.token(name.token + 1);
  const bool ends = next.is(",") || next.is(")") || next.is(";") || next.is("}");
  const auto& before = file.token(first - 1);
  return ends && (before.is("&") || before.is("(") || before.is(",") || before.is("="));
}

}  // namespace

CppProject::CppProject(const std::vector<std::string>& files, ProjectLimits limits, SourceNames linked) {
  const bool is_known = std::all_of(files.begin(), files.end(), [&](const std::string& file) {
    return !is_unit_of_cpp(file) || linked.contains(fs::path(file).filename().string());
  });
  if (is_known) linked_ = std::move(linked);
  std::vector<Source> sources;
  std::set<std::string> left_out;
  std::set<std::string> folders;
  for (const auto& file : files) read(file, limits, sources);
  for (const auto& file : files) folders.insert(fs::path(file).parent_path().string());
  // What is nearest first: where not all can be read, it says the most.
  for (const auto& folder : folders) read_folder(folder, false, limits, sources, left_out);
  std::set<std::string> roots;
  for (const auto& file : files) roots.insert(project_around(file).string());
  for (const auto& root : roots) {
    if (!root.empty()) read_folder(root, true, limits, sources, left_out);
  }
  if (!left_out.empty()) drop_headers_of(left_out, files, sources);
  for (auto& source : sources) add(std::move(source));
  add_functions_handed_on();
  std::map<std::string, std::vector<std::string_view>> includes;
  for (const auto& [path, file] : files_) includes[path] = includes_of(file->text());
  units_ = CppUnits(includes);
}

void CppProject::read_folder(const std::string& folder, bool with_folders, const ProjectLimits& limits,
                             std::vector<Source>& sources, std::set<std::string>& left_out) {
  std::error_code unusable;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, unusable);
  for (; !unusable && entry != fs::recursive_directory_iterator(); entry.increment(unusable)) {
    std::error_code gone;
    if (entry->is_directory(gone)) {
      if (!with_folders || is_foreign(entry->path())) entry.disable_recursion_pending();
    } else if (is_one_of(std::string_view(entry->path().extension().native()), kEndings)) {
      const auto name = entry->path().filename().string();
      if (!linked_.empty() && is_unit_of_cpp(name) && !linked_.contains(name)) {
        left_out.insert(entry->path().string());
        continue;
      }
      if (!is_whole_) return;
      read(entry->path().string(), limits, sources);
    }
  }
  is_whole_ = is_whole_ && !unusable;
}

void CppProject::read(const std::string& path, const ProjectLimits& limits, std::vector<Source>& sources) {
  std::error_code unusable;
  if (read_.contains(path) || !fs::is_regular_file(path, unusable)) return;
  const auto size = fs::file_size(path, unusable);
  if (unusable || sources.size() >= limits.files || bytes_ + size > limits.bytes) {
    is_whole_ = false;
    return;
  }
  try {
    sources.push_back({path, read_file(path)});
    read_.insert(path);
    bytes_ += size;
  } catch (const Error&) {
    is_whole_ = false;
  }
}

// Two programs of a folder may each have a header with a class of one name. What no source of either includes, a build
// may put before each file.
void CppProject::drop_headers_of(const std::set<std::string>& left_out, const std::vector<std::string>& files,
                                 std::vector<Source>& sources) {
  std::map<std::string, std::vector<std::string_view>> includes;
  for (const auto& source : sources) includes[source.path] = includes_of(source.text);
  const CppUnits own_units(includes);
  if (std::ranges::any_of(sources, [&](const Source& own) { return own_units.may_include_any(own.path); })) return;
  const std::set<std::string> own(files.begin(), files.end());
  const auto is_foreign = [&](const std::string& path) { return left_out.contains(path); };
  const auto has_no_own = [&](const CppUnits& units, const std::string& path) {
    return std::ranges::none_of(units.includers_of(path), [&](const std::string& includer) {
      return own.contains(includer) || (is_unit_of_cpp(includer) && !is_foreign(includer));
    });
  };
  // The others' sources are read only where a header may be theirs.
  if (std::ranges::none_of(sources, [&](const Source& source) { return has_no_own(own_units, source.path); })) return;
  std::vector<Source> others;
  for (const auto& path : left_out) {
    try {
      others.push_back({path, read_file(path)});
    } catch (const Error&) {
      return;
    }
  }
  for (const auto& other : others) includes[other.path] = includes_of(other.text);
  const CppUnits units(includes);
  std::erase_if(sources, [&](const Source& source) {
    return std::ranges::any_of(units.includers_of(source.path), is_foreign) && has_no_own(units, source.path);
  });
}

void CppProject::add(Source source) {
  for (const auto name : macro_names_of(source.text)) macro_names_.emplace(name);
  auto file = std::make_unique<CppFile>(source.path, std::move(source.text));
  add_names(*file);
  files_[source.path] = std::move(file);
}

void CppProject::add_names(const CppFile& file) {
  for (std::size_t i = 0; i < file.tokens().size(); ++i) {
    if (file.tokens()[i].is_name()) uses_[file.tokens()[i].text].push_back({&file, i});
  }
  for (std::size_t i = 0; i < file.blocks().size(); ++i) {
    const auto& block = file.blocks()[i];
    if (block.type == CppBlock::Type::function) functions_[block.name].push_back({&file, static_cast<int>(i)});
    if (block.type == CppBlock::Type::type) types_[block.name].push_back({&file, static_cast<int>(i)});
    if (block.type == CppBlock::Type::lambda) callbacks_.push_back({&file, static_cast<int>(i)});
  }
}

void CppProject::add_functions_handed_on() {
  for (const auto& [name, functions] : functions_) {
    const auto& uses = uses_[name];
    if (std::ranges::any_of(uses, is_handed_on))
      callbacks_.insert(callbacks_.end(), functions.begin(), functions.end());
  }
}

const CppFile* CppProject::file(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second.get();
}

const std::vector<TokenAt>& CppProject::uses(std::string_view name) const { return found_in(uses_, name); }

const std::vector<CppBlockAt>& CppProject::functions(std::string_view name) const { return found_in(functions_, name); }

const std::vector<CppBlockAt>& CppProject::types(std::string_view name) const { return found_in(types_, name); }

}  // namespace stepleak
