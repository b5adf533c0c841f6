// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace stepleak {

/// What [tool.stepleak] in the user's pyproject.toml says; folders are absolute. Empty: it says nothing of it.
struct Settings {
  std::filesystem::path file;
  std::filesystem::path scenarios;
  std::filesystem::path baselines;
};

/// Of the nearest folder, from the current one upwards, whose pyproject.toml has that table; a folder with `.git` is
/// the last one asked. Throws a usage error that names the file for what cannot be read, unknown keys and folders that
/// are not there. Read once: another folder that the process changes to makes no difference.
[[nodiscard]] const Settings& project_settings();

/// A pyproject.toml as `stepleak init` is to leave it.
struct InitialSettings {
  std::filesystem::path file;
  std::string text;
  std::string added;  ///< "[tool.stepleak]", or what that has got; empty: it has all, and stays as it is
  std::filesystem::path scenarios;
};

/// Of the file that has the table, else of the current folder's, which need not be there; nor need its folders. What
/// the template has more is added to it. Writes nothing. Throws a usage error for what cannot be read or has no place
/// for it.
[[nodiscard]] InitialSettings initial_settings(const std::filesystem::path& settings_template);

/// Of the option --scenarios.
inline constexpr const char* kScenarioFolderHelp =
    "folder of Python scenarios; none given: [tool.stepleak] in pyproject.toml";

/// The scenarios that are meant: those given, else the project's, else the checkout's that this was built in. An
/// absolute path, so that the files below it are found from wherever they are asked for. Throws a usage error where
/// there are none.
[[nodiscard]] std::string scenario_folder_of(const std::string& given);

/// The baselines that are meant where no folder was given: those of the settings or of the checkout, where the
/// scenarios are theirs; else baselines/ in the project that the scenarios lie in.
[[nodiscard]] std::filesystem::path baseline_folder_of(const std::string& given, const std::string& given_scenarios);

/// Whether a folder is the root of a project: it has `.git` or a pyproject.toml.
[[nodiscard]] bool is_project(const std::filesystem::path& folder);

/// The nearest folder above the scenarios that is the root of a project; else the folder that they lie in.
[[nodiscard]] std::filesystem::path project_of(const std::string& scenario_folder);

}  // namespace stepleak
