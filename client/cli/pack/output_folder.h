// A folder of files that appear together when all are whole.
#ifndef EVENKEEL_CLIENT_CLI_PACK_OUTPUT_FOLDER_H_
#define EVENKEEL_CLIENT_CLI_PACK_OUTPUT_FOLDER_H_

#include <string>
#include <vector>

namespace evenkeel::cli {

// Files are written to a folder of another name. If there was no folder of the right name, that one
// is renamed in the end; else its files are moved one by one. The last of `names` is removed before
// the first move and moved last: where it is, the other files are of the same run.
class OutputFolder {
 public:
  // `names` are the files that may be written. Throws CommandError(kBadInput) if one of them is
  // there and not `force`, or if `folder` cannot be made.
  OutputFolder(const std::string& folder, std::vector<std::string> names, bool force);
  ~OutputFolder();  // without Commit(): nothing is left
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Returns where to write the file that will be `name`.
  std::string PathOf(const std::string& name) const { return staging_ + "/" + name; }

  // Puts the files in place. Files of `names` that were not written do not exist afterwards.
  void Commit();

 private:
  [[noreturn]] void Fail(const std::string& what) const;
  void MoveFiles();

  std::string folder_;
  std::vector<std::string> names_;
  std::string staging_;  // empty: committed
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_OUTPUT_FOLDER_H_
