// Entry of the bundle plots.js: the one thing that pages need of Vega-Lite. Expressions are interpreted, not compiled, so
// that pages can forbid eval.
import embed from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";

window.fabricbenchPlot = (element, spec, config) =>
  embed(element, spec, {
    config,
    ast: true,
    expr: expressionInterpreter,
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
  });
