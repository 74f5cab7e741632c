// Properties of the keys of a config.json that follow from their names.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_KEYS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_KEYS_H_

#include <string_view>
#include <vector>

namespace evenkeel::server {

// Returns whether a key that nobody reads may change the shape of a model: its name mentions sizes,
// counts, biases and the like, and it is not one of those that are known to change neither the
// number of parameters nor the work of a layer.
bool MayChangeShapes(std::string_view key);

// Returns whether null has a meaning of its own for the key in transformers: no window, as many
// heads of keys as of queries, heads that share the width, no bias. Other keys have their defaults
// then, or transformers refuses them.
bool NullMeansNone(std::string_view key);

// Returns the synonyms of the key. Configs that transformers 5 saves have these.
std::vector<std::string_view> AliasesOf(std::string_view key);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_KEYS_H_
