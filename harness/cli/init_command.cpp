// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/settings.hpp"

namespace stepleak {
namespace {

namespace fs = std::filesystem;

std::string template_of(const std::string& name) {
  return read_file(layout().package_folder / "stepleak/templates" / name);
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
    // A project that has settings keeps them, wherever below it this is called.
    const auto settings = project_settings();
    const auto root = settings.file.empty() ? fs::current_path() : settings.file.parent_path();
    const auto scenarios = settings.scenarios.empty() ? root / "tests/leaks" : settings.scenarios;
    write_new(scenarios / "example.py", template_of("example.py.in"));
    if (settings.scenarios.empty()) {
      add_table(root / "pyproject.toml");
    } else {
      say("kept", settings.file, "it has [tool.stepleak]");
    }
    if (const auto* recipe = recipe_for(root)) {
      write_new(root / recipe->file, template_of(recipe->source), recipe->next);
    }
    print_text(
        "next: stepleak run example_losses, put your own step in its place, then stepleak baseline update; commit "
        "all\n");
    return ExitCode::clean;
  }

 private:
  static void say(std::string_view what, const fs::path& file, std::string_view more) {
    std::error_code ignored;
    const auto shown = fs::proximate(file, ignored);
    print_text(fmt::format("  {:<6} {}{}{}\n", what, printable_line((ignored ? file : shown).string()),
                           more.empty() ? "" : ": ", printable_line(more)));
  }

  static void write_new(const fs::path& file, const std::string& text, std::string_view more = {}) {
    std::error_code ignored;
    // A link that leads nowhere is somebody's, too.
    if (fs::exists(fs::symlink_status(file, ignored))) return say("kept", file, "it is there");
    write_file(file, text);
    say("wrote", file, more);
  }

  // Behind what the file says already; a file that is not to be read, or not with the table, stays as it was.
  static void add_table(const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(file, ignored))) {
      write_file(file, template_of("settings.toml.in"));
      return say("wrote", file, {});
    }
    (void)settings_in(file);
    const auto before = read_file(file);
    const auto* gap = before.empty() ? "" : before.ends_with('\n') ? "\n" : "\n\n";
    write_file(file, before + gap + template_of("settings.toml.in"));
    try {
      (void)settings_in(file);
    } catch (const Error&) {
      write_file(file, before);
      throw;
    }
    say("added", file, "[tool.stepleak]");
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
      "What is there stays as it is; a pyproject.toml gets a table at its end.\n"
      "Example: stepleak init --ci gitlab");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
