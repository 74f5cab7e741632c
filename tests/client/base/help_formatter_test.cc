#include "client/cli/base/help_formatter.h"

#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <sstream>
#include <string>

#include "client/cli/base/text.h"

namespace evenkeel::cli {
namespace {

std::string Help(int width) {
  CLI::App app("A program.", "program");
  app.formatter(MakeHelpFormatter([width] { return width; }));
  std::string value;
  app.add_option("--model", value,
                 "The model, which is described at such length that it takes more than one line")
      ->type_name("NAME");
  app.add_option("--a-flag-of-many-names", value, "Short")
      ->type_name("one|two|three|four|five|six");
  app.footer(
      "A footer that is a little longer than the narrow terminal on which somebody may read it.\n"
      "  evenkeelctl plan --local --model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32 -x");
  return app.help();
}

TEST(HelpFormatterTest, WrapsAllButCommands) {
  for (const int width : {60, 80, 100}) {
    std::istringstream lines(Help(width));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("evenkeelctl plan") != std::string::npos) continue;
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
  EXPECT_NE(Help(60).find("--gpu a100-sxm-80gb --gpus 32 -x\n"), std::string::npos);
}

TEST(HelpFormatterTest, DescriptionsHangUnderTheirBeginning) {
  const std::string help = Help(80);
  EXPECT_NE(help.find("  --model NAME          The model, which"), std::string::npos) << help;
  EXPECT_NE(help.find("\n                        "), std::string::npos) << help;
  EXPECT_NE(help.find("one|two|three|four|five|six\n                        Short\n"),
            std::string::npos)
      << help;
}

}  // namespace
}  // namespace evenkeel::cli
