// A folder of files that appear together when all are complete.
#ifndef EVENKEEL_CLIENT_CLI_PACK_OUTPUT_FOLDER_H_
#define EVENKEEL_CLIENT_CLI_PACK_OUTPUT_FOLDER_H_

#include <string>
#include <vector>

namespace evenkeel::cli {

// Files are written to a folder with another name. If there was no folder with the right name, that
// one is renamed at the end. Otherwise its files are moved one by one. The last of `names` is
// removed before the first move and moved last. So if it exists, the other files are of the same
// run.
class OutputFolder {
 public:
  // `names` are the files that may be written. Throws CommandError(kBadInput) if one of them exists
  // and `force` is false, or if `folder` cannot be made.
  OutputFolder(const std::string& folder, std::vector<std::string> names, bool force);
  ~OutputFolder();  // leaves nothing without Commit()
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Returns the path at which to write the file that will be `name`.
  std::string PathOf(const std::string& name) const { return staging_ + "/" + name; }

  // Puts the files in place. Files of `names` that were not written do not exist afterwards.
  void Commit();

 private:
  [[noreturn]] void Fail(const std::string& what) const;
  void MoveFiles();

  std::string folder_;
  std::vector<std::string> names_;
  std::string staging_;  // empty once committed
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_OUTPUT_FOLDER_H_
