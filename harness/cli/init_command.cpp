// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/settings.hpp"

namespace stepleak {
namespace {

namespace fs = std::filesystem;

fs::path template_named(const std::string& name) { return layout().package_folder / "stepleak/templates" / name; }

/// A file as it is to be.
struct PlannedFile {
  fs::path file;
  std::string text;
  std::string said;  ///< what was done
  std::string more;  ///< of it
};

bool is_there(const fs::path& file) {
  std::error_code ignored;
  // A link that leads nowhere is somebody's, too.
  return fs::exists(fs::symlink_status(file, ignored));
}

/// A CI system with the recipe for it.
struct Recipe {
  std::string system;
  std::string source;  ///< among the templates
  fs::path file;       ///< in the project
  std::string next;    ///< what takes it in
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{
      {"github", "github.yml", ".github/workflows/stepleak.yml", "it runs on each pull request and every night"},
      {"gitlab", "gitlab.yml", ".gitlab/stepleak.yml",
       "take it into .gitlab-ci.yml: include: {local: .gitlab/stepleak.yml}"},
      {"jenkins", "jenkins.groovy", "stepleak.Jenkinsfile", "name it as the script path of a pipeline"}};
  return all;
}

class InitCommand {
 public:
  std::string ci = "auto";

  ExitCode operator()() const {
    // All of it is known to have a place before any is written.
    const auto plan = planned();
    for (const auto& [file, text, said, more] : plan) {
      if (said != kKept) check_writable(file);
    }
    for (const auto& [file, text, said, more] : plan) {
      if (said != kKept) write_file(file, text);
      say(said, file, more);
    }
    print_text(
        "next: stepleak run example_losses, put your own step in its place, then stepleak baseline update; commit "
        "all\n");
    return ExitCode::clean;
  }

 private:
  static constexpr const char* kKept = "kept";

  // A project that has settings keeps them, wherever below it this is called.
  [[nodiscard]] std::vector<PlannedFile> planned() const {
    const auto settings = initial_settings(template_named("settings.toml.in"));
    const auto root = settings.file.parent_path();
    std::vector plan{planned_settings(settings),
                     planned_new(settings.scenarios.lexically_normal() / "example.py", "example.py.in", {})};
    if (const auto* recipe = recipe_for(root)) {
      plan.push_back(planned_new(root / recipe->file, recipe->source, recipe->next));
    }
    return plan;
  }

  static PlannedFile planned_settings(const InitialSettings& settings) {
    const auto& file = settings.file;
    if (settings.added.empty()) return {file, {}, kKept, "it has [tool.stepleak]"};
    std::error_code ignored;
    if (fs::is_symlink(file, ignored)) {
      throw usage_error(fmt::format("{} is a symbolic link, and nothing is written through it", file.string()),
                        "add to the file that it leads to: [tool.stepleak] with scenarios = \"tests/leaks\"");
    }
    const bool is_new = !is_there(file);
    return {file, settings.text, is_new ? "wrote" : "added", is_new ? std::string() : settings.added};
  }

  static PlannedFile planned_new(const fs::path& file, const std::string& source, const std::string& next) {
    if (is_there(file)) return {file, {}, kKept, "it is there"};
    return {file, read_file(template_named(source)), "wrote", next};
  }

  static void say(std::string_view what, const fs::path& file, std::string_view more) {
    std::error_code ignored;
    const auto shown = fs::proximate(file, ignored);
    print_text(fmt::format("  {:<6} {}{}{}\n", what, printable_line((ignored ? file : shown).string()),
                           more.empty() ? "" : ": ", printable_line(more)));
  }

  [[nodiscard]] const Recipe* recipe_for(const fs::path& root) const {
    std::error_code ignored;
    auto system = ci;
    if (system == "auto") {
      system = fs::exists(root / ".gitlab-ci.yml", ignored) ? "gitlab"
               : fs::exists(root / "Jenkinsfile", ignored)  ? "jenkins"
                                                            : "github";
    }
    for (const auto& recipe : recipes()) {
      if (recipe.system == system) return &recipe;
    }
    return nullptr;
  }
};

}  // namespace

void add_init_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("init", "Write settings, an example scenario and a CI file into this project");
  auto command = std::make_shared<InitCommand>();
  verb->add_option("--ci", command->ci, "auto, github, gitlab, jenkins or none; auto: by the files that are there")
      ->check(CLI::IsMember({"auto", "github", "gitlab", "jenkins", "none"}))
      ->capture_default_str();
  verb->footer(
      "What is there stays as it is; a pyproject.toml gets a table at its end, or what its table lacks.\n"
      "Example: stepleak init --ci gitlab");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
