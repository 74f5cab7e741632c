// Joins the parts of a catalogue table.
#ifndef EVENKEEL_PLANNER_BASE_CONCATENATE_H_
#define EVENKEEL_PLANNER_BASE_CONCATENATE_H_

#include <initializer_list>
#include <iterator>
#include <vector>

namespace evenkeel::planner {

template <typename Entry>
std::vector<Entry> Concatenate(std::initializer_list<std::vector<Entry> (*)()> parts) {
  std::vector<Entry> all;
  for (auto* part : parts) {
    std::vector<Entry> entries = part();
    all.insert(all.end(), std::make_move_iterator(entries.begin()),
               std::make_move_iterator(entries.end()));
  }
  return all;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_CONCATENATE_H_
