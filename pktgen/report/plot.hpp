// --plot: rates and latencies as one SVG picture, drawn by gnuplot.
//
// Above: sent and received frames a second of each repeat, with the generator's ceiling; for a
// search, the rates it offered and achieved. Below: how long events took, over the share of events
// that took less, on an axis that gives 90 %, 99 % and 99.9 % the same room.
#pragma once

#include "pktgen/result/result.hpp"

#include <stdexcept>
#include <string>

namespace tributary::pktgen::report {

/// what() includes what to do.
class PlotError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The gnuplot script; gnuplot writes the picture to its standard output.
[[nodiscard]] std::string plot_script(const result::Result& result);

/// Draws the picture and writes it to `path` ("-": standard output). `gnuplot` is looked for in
/// PATH when it has no slash. Throws PlotError when gnuplot is missing or fails, OutputError when
/// the picture cannot be written.
void draw_plot(const result::Result& result, const std::string& path,
               const std::string& gnuplot = "gnuplot");

} // namespace tributary::pktgen::report
