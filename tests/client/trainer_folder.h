// A folder with the files of a run of Hugging Face Trainer.
#ifndef EVENKEEL_TESTS_CLIENT_TRAINER_FOLDER_H_
#define EVENKEEL_TESTS_CLIENT_TRAINER_FOLDER_H_

#include <string>
#include <vector>

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {

class TrainerFolder {
 public:
  std::string Write(const std::string& name, const std::string& text) const {
    return folder_.Write(name, text);
  }
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // Reads a text as a file of the folder.
  UserConfig Read(const std::string& name, const std::string& text,
                  const std::string& framework = "") const;
  UserConfig Script(const std::string& text, const std::string& framework = "") const {
    return Read("run.sh", text, framework);
  }

  // Reads files of the folder as one run, on H100 and of llama3-8b.
  UserRun Run(const std::vector<std::string>& names, const std::string& framework = "") const;
  UserRun RunScript(const std::string& text) const;

  // Returns why a script, or files, are refused, or nothing.
  std::string Refusal(const std::string& text, const std::string& framework = "") const;
  std::string RefusalOfFiles(const std::vector<std::string>& names) const;

 private:
  TestFolder folder_;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_TRAINER_FOLDER_H_
