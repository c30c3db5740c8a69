// Behaviour of the pages: light and dark, sorting, filtering. A classic script without dependencies; pages are complete without it.
"use strict";

(() => {
  const root = document.documentElement;

  // Light and dark; before anything is drawn
  const kept = () => { try { return localStorage.getItem("fabricbench-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("fabricbench-theme", theme); } catch { /* for this page only */ } };
  const asked = kept();
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;

  const darkSystem = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : darkSystem.matches;
  const announce = () => dispatchEvent(new Event("fabricbench-theme"));
  darkSystem.addEventListener("change", announce);

  const useThemeButton = () => {
    const button = document.querySelector("button.theme");
    const name = () => {
      button.setAttribute("aria-pressed", String(isDark()));
      button.title = isDark() ? "Switch to light" : "Switch to dark";
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      keep(root.dataset.theme);
      name();
      announce();
    });
    name();
  };

  // Sorting
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v ?? cell.textContent.trim();
  };
  const isNumber = (text) => text !== "" && !Number.isNaN(Number(text));
  // Missing values come last in both directions.
  const compare = (a, b, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * (isNumber(a) && isNumber(b) ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
  };
  const sortBy = (table, column, direction) => {
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((header, i) => (i === column ? header.setAttribute("aria-sort", direction) : header.removeAttribute("aria-sort")));
    for (const body of table.tBodies) {
      const rows = [...body.rows];
      rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column), direction === "ascending" ? 1 : -1));
      body.append(...rows);
    }
  };
  // Figures begin with the highest, names with A, prices with the lowest.
  const firstDirection = (header) => (header.classList.contains("num") || header.classList.contains("model")) && !header.textContent.includes("$") ? "descending" : "ascending";
  const useSorting = (table) => {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      header.querySelector("button")?.addEventListener("click", () => {
        const now = header.getAttribute("aria-sort");
        sortBy(table, column, now ? (now === "ascending" ? "descending" : "ascending") : firstDirection(header));
      });
    });
  };
  // Narrow screens have no headers: a list of the columns takes their place.
  const useSortList = () => {
    const list = document.getElementById("sort-by");
    const table = document.getElementById("board");
    if (!list || !table) return;
    [...table.tHead.rows[0].cells].forEach((header, column) => list.add(new Option(column === 0 ? "Rank" : header.textContent, String(column))));
    list.addEventListener("change", () => sortBy(table, Number(list.value), firstDirection(table.tHead.rows[0].cells[Number(list.value)])));
  };

  // Filtering
  const matches = (row, words) => words.every((word) => (row.dataset.name ?? "").toLowerCase().includes(word));
  const wordsOf = (input) => (input?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const showNothing = (table, nothing) => {
    let note = table.parentElement.querySelector(".nothing");
    if (!note) {
      note = document.createElement("p");
      note.className = "nothing";
      note.textContent = "No match.";
      table.parentElement.append(note);
    }
    note.hidden = !nothing;
  };
  const useFilters = () => {
    const scope = document.getElementById("scope");
    const models = document.getElementById("find-model");
    const problems = document.getElementById("find-problem");
    const board = document.getElementById("board");
    const heat = document.getElementById("heat");
    if (!scope || !board || !heat) return;
    const update = () => {
      const [kind, ...rest] = scope.value.split(":");
      const wanted = rest.join(":");
      const names = wordsOf(models);
      for (const body of board.tBodies) body.hidden = body.dataset.scope !== scope.value;
      for (const row of document.querySelectorAll("#board tbody tr, .bar-row, .mini tr")) row.hidden = !matches(row, names);
      showNothing(board, ![...board.querySelectorAll("tbody:not([hidden]) tr")].some((row) => !row.hidden));
      const words = wordsOf(problems);
      for (const row of heat.tBodies[0].rows) row.hidden = !matches(row, words) || (kind !== "all" && row.dataset[kind] !== wanted);
      showNothing(heat, ![...heat.tBodies[0].rows].some((row) => !row.hidden));
    };
    scope.addEventListener("change", update);
    models.addEventListener("input", update);
    problems.addEventListener("input", update);
    for (const form of document.querySelectorAll("form.filters")) form.addEventListener("submit", (event) => event.preventDefault());
    update();  // browsers keep the text of inputs
  };

  document.addEventListener("DOMContentLoaded", () => {
    useThemeButton();
    document.querySelectorAll("table.sortable").forEach(useSorting);
    useSortList();
    useFilters();
  });
})();
