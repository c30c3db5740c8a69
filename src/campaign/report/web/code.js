// Entry of the bundle code.js: colours CUDA C++ on the pages with highlight.js. Without it code is plain text.
import hljs from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";

hljs.registerLanguage("cuda", (h) => {
  const language = cpp(h);
  language.keywords.type.push("dim3", "cudaStream_t", "cudaEvent_t", "__half", "__half2", "half", "half2", "__nv_bfloat16", "__nv_bfloat162");
  for (const name of ["int", "uint", "float", "double", "char", "uchar", "short", "ushort", "long", "ulong"]) {
    for (const count of [2, 3, 4]) language.keywords.type.push(`${name}${count}`);
  }
  language.keywords.keyword.push("__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__grid_constant__",
    "__forceinline__", "__noinline__", "__launch_bounds__", "__cluster_dims__", "__restrict__");
  language.keywords.built_in.push("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "clusterIdx");
  return language;
});

// One string of markup for each line. An element that goes on over a line end is closed there and opened again.
const coloured = (code) => {
  const open = [];
  return hljs.highlight(code, { language: "cuda", ignoreIllegals: true }).value.split("\n").map((line) => {
    const before = open.join("");
    for (const tag of line.match(/<span[^>]*>|<\/span>/g) ?? []) tag === "</span>" ? open.pop() : open.push(tag);
    return before + line + "</span>".repeat(open.length);
  });
};

// The text of a line is an element that ends with the line end.
const colourLines = (lines) => {
  const markup = coloured(lines.map((line) => line.textContent).join(""));
  lines.forEach((line, i) => { line.innerHTML = `${markup[i]}\n`; });
};
const textOf = (line) => line.lastElementChild;

for (const code of document.querySelectorAll("pre.code.plain > code")) code.innerHTML = coloured(code.textContent).join("\n");
for (const view of document.querySelectorAll("pre.code:not(.plain, .diff)")) colourLines([...view.querySelectorAll(".l")].map(textOf));

// Lines of the new code look as they do in the view of the whole. Removed lines have no whole: each run of them is coloured alone.
for (const view of document.querySelectorAll("pre.code.diff")) {
  let removed = [];
  const flush = () => { if (removed.length > 0) colourLines(removed); removed = []; };
  for (const line of view.querySelectorAll(".l, .gap")) {
    if (line.classList.contains("del")) { removed.push(textOf(line)); continue; }
    flush();
    if (line.classList.contains("gap")) continue;
    const whole = document.getElementById(`L${line.firstElementChild.dataset.n}`);
    if (whole) textOf(line).innerHTML = textOf(whole).innerHTML;
    else colourLines([textOf(line)]);
  }
  flush();
}
document.documentElement.dataset.coloured = "yes";
