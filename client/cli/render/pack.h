// Shows a packing to a person.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_PACK_H_
#define EVENKEEL_CLIENT_CLI_RENDER_PACK_H_

#include <string>
#include <vector>

#include "client/cli/base/text.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// Where a packing came from and where it went.
struct PackOrigin {
  std::string packed_by;             // "this process", or the server's address
  std::vector<std::string> written;  // files written, one sentence without a full stop each
  std::vector<std::string> notes;    // notes for the user
  bool oversize_listed = false;      // a file lists all oversize samples
};

// Returns text of at most style.width columns wherever words allow it.
std::string RenderPack(const Style& style, const v1::PackDatasetSummary& summary,
                       const v1::PackDatasetStart& start, const PackOrigin& origin);

// Returns a text with the weight of a unit of each encoder. Requires a rule of several encoders.
std::string UnitScalesText(const v1::BatchRule& rule);

// Returns how far the pack count is above its lower bound, as a share of the bound.
double BoundGap(const v1::BatchRule& rule);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_PACK_H_
