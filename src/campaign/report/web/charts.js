// The plots of the pages, as Vega-Lite specifications: one function for each, from the data that the page holds. Colours are
// those of site.css, so that they follow light and dark.
"use strict";

(() => {
  // A colour of the style sheet as the browser resolves it.
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };

  const kModelColours = ["--m1", "--m2", "--m3", "--m4", "--m5", "--m6", "--m7", "--m8"];
  const kShapes = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left"];
  const cycle = (list, count) => Array.from({ length: count }, (_, i) => list[i % list.length]);
  const distinct = (rows, key) => [...new Set(rows.map((row) => row[key]))];

  const config = () => {
    const ink = colour("--ink"), soft = colour("--soft"), line = colour("--line");
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: null },
      axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600, titlePadding: 10, gridOpacity: 0.8 },
      legend: { labelColor: ink, titleColor: soft, labelFontSize: 12, symbolSize: 90, orient: "bottom", title: null, columns: innerWidth < 500 ? 1 : innerWidth < 760 ? 2 : 3, labelLimit: 200, symbolOpacity: 1 },
      text: { color: ink, fontSize: 12 },
    };
  };

  const base = (data, height, layer) => ({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width: "container", height, autosize: { type: "fit-x", contains: "padding" },
    data: { values: data }, layer,
  });
  const modelScale = (models) => ({ domain: models, range: cycle(kModelColours, models.length).map(colour) });
  const shapeScale = (models) => ({ domain: models, range: cycle(kShapes, models.length) });
  const percent = { format: ".0%", values: [0, 0.25, 0.5, 0.75, 1] };

  // Bytes and seconds with units.
  const kBytes = "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.3~g') + ' GiB' : datum.value >= 1048576 ? format(datum.value / 1048576, '.3~g') + ' MiB' : datum.value >= 1024 ? format(datum.value / 1024, '.3~g') + ' KiB' : format(datum.value, '.3~g') + ' B'";
  const kSeconds = "datum.value >= 1 ? format(datum.value, '.3~g') + ' s' : datum.value >= 0.001 ? format(datum.value * 1000, '.3~g') + ' ms' : datum.value >= 0.000001 ? format(datum.value * 1000000, '.3~g') + ' µs' : format(datum.value * 1000000000, '.3~g') + ' ns'";
  const kOperations = "datum.value >= 1e12 ? format(datum.value / 1e12, '.3~g') + ' T/s' : datum.value >= 1e9 ? format(datum.value / 1e9, '.3~g') + ' G/s' : format(datum.value / 1e6, '.3~g') + ' M/s'";
  const kRate = "format(datum.value / 1000000000, '.3~g') + ' GB/s'";

  const charts = {
    rounds(data) {
      const models = distinct(data, "model");
      const most = Math.max(...data.map((row) => row.round));
      // Side by side, so that intervals do not cover each other.
      const rows = data.map((row) => ({ ...row, at: row.round + (models.indexOf(row.model) - (models.length - 1) / 2) * Math.min(0.07, 0.4 / models.length) }));
      const x = { field: "at", type: "quantitative", title: "After round", scale: { domain: [0.75, most + 0.25], nice: false }, axis: { values: Array.from({ length: most }, (_, i) => i + 1), format: "d", grid: false } };
      const color = { field: "model", type: "nominal", scale: modelScale(models), sort: models };
      const shape = { field: "model", type: "nominal", scale: shapeScale(models), sort: models };
      const y = (field) => ({ field, type: "quantitative", title: "Pass rate", scale: { domain: [0, 1] }, axis: percent });
      return base(rows, 290, [
        { mark: { type: "rule", strokeWidth: 2, opacity: 0.35 }, encoding: { x, y: y("pass_low"), y2: { field: "pass_high" }, color } },
        { mark: { type: "line", strokeWidth: 2.5 }, encoding: { x, y: y("pass"), color } },
        { mark: { type: "point", filled: true, size: 95, opacity: 1 }, encoding: { x, y: y("pass"), color, shape, tooltip: [
          { field: "model", title: "Model" }, { field: "round", title: "Round" }, { field: "pass", title: "Pass rate", format: ".1%" },
          { field: "pass_low", title: "at least", format: ".1%" }, { field: "pass_high", title: "at most", format: ".1%" }, { field: "new_passes", title: "New passes" }] } },
      ]);
    },

    cost(data) {
      const models = distinct(data, "model");
      // Few models are named beside their points, many in a legend.
      const named = models.length <= 6;
      const legend = named ? { legend: null } : {};
      const prices = data.map((row) => row.usd);
      const log = Math.min(...prices) > 0;
      const x = { field: "usd", type: "quantitative", title: "$ per problem", axis: { format: "$.3~g", tickCount: 5, grid: false },
        scale: log ? { type: "log", domain: [Math.min(...prices) / 1.8, Math.max(...prices) * 1.8], nice: false } : { domain: [0, Math.max(...prices, 1) * 1.3] } };
      const color = { field: "model", type: "nominal", scale: modelScale(models), sort: models, ...legend };
      const shape = { field: "model", type: "nominal", scale: shapeScale(models), sort: models, ...legend };
      const y = (field) => ({ field, type: "quantitative", title: "Pass×GM", scale: { zero: true } });
      // A label is on the side with more room.
      const middle = log ? Math.sqrt(Math.min(...prices) * Math.max(...prices)) : (Math.min(...prices) + Math.max(...prices)) / 2;
      const label = (align, dx, filter) => ({ transform: [{ filter }], mark: { type: "text", align, dx, fontWeight: 600 }, encoding: { x, y: y("pass_gm"), text: { field: "model" } } });
      return base(data, 318, [
        { mark: { type: "rule", strokeWidth: 2, opacity: 0.4 }, encoding: { x, y: y("pass_gm_low"), y2: { field: "pass_gm_high" }, color } },
        { mark: { type: "point", filled: true, size: 150, opacity: 1 }, encoding: { x, y: y("pass_gm"), color, shape, tooltip: [
          { field: "model", title: "Model" }, { field: "usd", title: "$ per problem", format: "$.4f" }, { field: "pass_gm", title: "Pass×GM", format: ".2f" },
          { field: "pass", title: "Pass rate", format: ".1%" }, { field: "output_tokens", title: "Output tokens", format: "," }] } },
        ...(named ? [label("left", 13, `datum.usd <= ${middle}`), label("right", -13, `datum.usd > ${middle}`)] : []),
      ]);
    },

    times: (data) => curves(data, { field: "seconds", low: "low", high: "high", title: "Time", labels: kSeconds }),
    rates: (data) => curves(data, { field: "rate", low: "rate_low", high: "rate_high", title: "Data over the links per second", labels: kRate }),
  };

  // A point is a solution at a size; the roofs are lines, and limits are marks below them: a launch and memory count there, too.
  const intensity = (data) => {
    const points = data.points;
    const models = distinct(points.filter((row) => row.kind === "model"), "series");
    const others = ["reference", "baseline", "limit"].filter((name) => points.some((row) => row.kind === name));
    const domain = [...models, ...others];
    const range = [...cycle(kModelColours, models.length).map(colour), ...others.map((name) => colour(name === "limit" ? "--warn-line" : name === "baseline" ? "--fg" : "--soft"))];
    const at = points.map((row) => row.intensity);
    const ridge = data.products / data.link;  // where the level begins: part of the picture
    const [left, right] = [Math.min(...at) / 6, Math.max(6 * Math.max(...at), 2 * ridge)];
    const level = (x) => (data.products > 0 ? Math.min(x * data.link, data.products) : x * data.link);
    const roof = [left, ...(ridge > left && ridge < right ? [ridge] : []), right].map((x) => ({ intensity: x, rate: level(x) }));
    const rates = [...points.map((row) => row.rate), ...roof.map((row) => row.rate)];
    const [low, high] = [Math.min(...rates), Math.max(...rates)];
    const x = { field: "intensity", type: "quantitative", title: "Operations for each byte on a link", axis: { values: steps(left, right), format: ".3~s", grid: false, labelOverlap: true }, scale: { type: "log", domain: [left, right], nice: false } };
    const y = { field: "rate", type: "quantitative", title: "Operations per second", axis: { values: steps(low, high), labelExpr: kOperations }, scale: { type: "log", domain: [low / 1.5, high * 1.5], nice: false } };
    const color = { field: "series", type: "nominal", scale: { domain, range }, sort: domain };
    const shape = { field: "series", type: "nominal", sort: domain, scale: { domain, range: [...cycle(kShapes, models.length), ...others.map((name) => (name === "limit" ? "triangle-down" : name === "baseline" ? "square" : "diamond"))] } };
    return base(points, 290, [
      { data: { values: roof }, mark: { type: "line", strokeWidth: 2, strokeDash: [2, 3], color: colour("--warn-line") }, encoding: { x, y } },
      { mark: { type: "point", filled: true, size: 110, opacity: 1, strokeWidth: 2.5 }, encoding: { x, y, color, shape, tooltip: [
        { field: "series", title: "Solution" }, { field: "size", title: "Size" }, { field: "seconds", title: "Seconds", format: ".3e" }, { field: "rate", title: "Operations/s", format: ".3s" },
        { field: "intensity", title: "Operations for each byte", format: ".3~g" }] } },
    ]);
  };
  charts.intensity = intensity;

  // Round numbers for a logarithmic axis: a few for each power of ten, or the powers alone where there are many.
  const steps = (low, high) => {
    const powers = Math.log10(high / low);
    const digits = powers > 3 ? [1] : powers > 1.6 ? [1, 3] : [1, 2, 5];
    const values = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.log10(high) + 1; ++power) values.push(...digits.map((digit) => digit * 10 ** power));
    return values.filter((value) => value >= low / 1.3 && value <= high * 1.3);
  };

  // Models in colours, reference and baseline dashed, the limit dotted; both axes logarithmic.
  const curves = (data, what) => {
    const models = distinct(data.filter((row) => row.kind === "model"), "series");
    const others = ["reference", "baseline", "limit"].filter((name) => data.some((row) => row.series === name && row.kind === name));
    const domain = [...models, ...others];
    const range = [...cycle(kModelColours, models.length).map(colour), ...others.map((name) => colour(name === "limit" ? "--warn-line" : name === "baseline" ? "--fg" : "--soft"))];
    const sizes = distinct(data, "bytes").sort((a, b) => a - b);
    const [low, high] = [Math.min(...data.map((row) => row[what.low])), Math.max(...data.map((row) => row[what.high]))];
    const x = { field: "bytes", type: "quantitative", title: "Data over the links, per rank", axis: { values: sizes, labelExpr: kBytes, grid: false, labelOverlap: true },
      scale: { type: "log", base: 2, domain: [sizes[0] / 1.5, sizes[sizes.length - 1] * 1.5], nice: false } };
    const y = (field) => ({ field, type: "quantitative", title: what.title, axis: { labelExpr: what.labels, values: steps(low, high) }, scale: { type: "log", domain: [low / 1.3, high * 1.3], nice: false } });
    const color = { field: "series", type: "nominal", scale: { domain, range }, sort: domain };
    const strokeDash = { field: "series", type: "nominal", scale: { domain, range: [...models.map(() => [1, 0]), ...others.map((name) => (name === "limit" ? [2, 3] : name === "baseline" ? [3, 3] : [7, 4]))] } };
    const shape = { field: "series", type: "nominal", sort: domain, scale: { domain, range: [...cycle(kShapes, models.length), ...others.map(() => "stroke")] } };
    return base(data, 290, [
      { mark: { type: "line", strokeWidth: 2.2 }, encoding: { x, y: y(what.field), color, strokeDash, detail: { field: "series" } } },
      { mark: { type: "rule", strokeWidth: 2, opacity: 0.5 }, encoding: { x, y: y(what.low), y2: { field: what.high }, color } },
      { mark: { type: "point", filled: true, size: 85, opacity: 1 }, encoding: { x, y: y(what.field), color, shape, tooltip: [
        { field: "series", title: "Series" }, { field: "size", title: "Size" }, { field: "seconds", title: "Seconds", format: ".3e" }, { field: "rate", title: "Bytes/s", format: ".3s" }] } },
    ]);
  };

  const draw = () => {
    for (const element of document.querySelectorAll("[data-plot]")) {
      const kind = element.dataset.plot;
      const data = JSON.parse(document.getElementById(element.dataset.from ?? `data-${kind}`).textContent);
      fabricbenchPlot(element, charts[kind](data), config()).then(() => { element.dataset.drawn = "yes"; });
    }
  };
  draw();
  addEventListener("fabricbench-theme", draw);
  addEventListener("beforeprint", draw);
})();
