// Draws the page from one object of facts, which stands in the page itself. A page that `hearth serve` gave out asks for
// newer ones; one that `hearth report` wrote has all it will ever have. Names of kernels are anybody's text: everything
// goes in as text, never as markup.
"use strict";

const ROWS = 25;
const EVERY = 5000; // ms between two looks at a server
const byId = (id) => document.getElementById(id);
let facts = JSON.parse(byId("data").textContent);
const live = facts.live;

function make(tag, className, ...inside) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

function fill(id, parts, otherwise) {
  if (byId(id).contains(document.activeElement)) return; // whoever is there with the keyboard stays there
  byId(id).replaceChildren(...(parts.length ? parts : [make("p", "note", otherwise)]));
}

// ---- figures for people, as the command writes them

const count = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
const percent = (share) => (share * 100).toFixed(1);

function duration(seconds) {
  if (!seconds) return ["0", "s"];
  const units = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1], ["min", 60], ["h", 3600], ["d", 86400]];
  let unit = 0;
  while (unit + 1 < units.length && seconds >= units[unit + 1][1]) unit++;
  const value = seconds / units[unit][1];
  return [value >= 100 || value === Math.floor(value) ? value.toFixed(0) : value.toFixed(1), units[unit][0]];
}
const span = (seconds) => duration(seconds).join(" ");

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (unit + 1 < units.length && n >= 1024) { n /= 1024; unit++; }
  return (unit === 0 || n >= 100 ? n.toFixed(0) : n.toFixed(1)) + " " + units[unit];
}

function age(moment) {
  if (!moment) return "never";
  const seconds = (Date.parse(facts.time) - Date.parse(moment)) / 1000;
  return seconds < 1 ? "just now" : span(Math.floor(seconds)) + " ago";
}
const times = (n, one, many) => count(n) + " " + (n === 1 ? one : many);

// A figure keeps its exact value beside what people see.
function show(name, exact, value, unit) {
  const place = document.querySelector(`[data-fact="${name}"]`);
  place.dataset.value = exact;
  place.replaceChildren(value, make("span", "unit", unit || ""));
}

// ---- the parts of the page

function drawHero() {
  const stats = facts.stats;
  show("compile_seconds_saved", stats.compile_seconds_saved, ...duration(stats.compile_seconds_saved));
  byId("spent").textContent = span(stats.compile_seconds_spent) + " spent on compiles";
  const midnight = new Date(facts.time).setHours(0, 0, 0, 0);
  const today = facts.history.filter((hour) => Date.parse(hour.start) >= midnight);
  const saved = today.reduce((sum, hour) => sum + hour.compile_seconds_saved, 0);
  show("saved_today", saved, ...duration(saved));
  byId("today").textContent = times(today.reduce((sum, hour) => sum + hour.hits, 0), "hit", "hits") + " today";
  show("hit_rate", stats.hit_rate, percent(stats.hit_rate), "%");
  byId("rate").textContent = `${count(stats.hits)} of ${times(stats.lookups, "lookup", "lookups")}`;
  show("compiles", stats.compiles, count(stats.compiles));
  const late = stats.compiles_after_ready;
  byId("compiles").textContent = `${count(stats.compile_failures)} failed` +
    (late ? `, ${count(late)} after the program was ready` : "");
}

// Hours, or days where there are many, as {start, lookups, hits, saved}, without gaps.
function buckets(hours) {
  const step = hours > 168 ? 24 : hours > 24 ? 4 : 1;
  const end = new Date(facts.time);
  end.setMinutes(0, 0, 0);
  const last = end.getTime() - (step === 24 ? end.getHours() : end.getHours() % step) * 3600e3;
  const number = Math.ceil(hours / step);
  const all = Array.from({ length: number }, (_, i) =>
    ({ start: last - (number - 1 - i) * step * 3600e3, lookups: 0, hits: 0, saved: 0, compiles: 0 }));
  for (const hour of facts.history) {
    const at = all[Math.floor((Date.parse(hour.start) - all[0].start) / (step * 3600e3))];
    if (!at) continue;
    at.lookups += hour.lookups;
    at.hits += hour.hits;
    at.compiles += hour.compiles;
    at.saved += hour.compile_seconds_saved;
  }
  return all;
}

function drawn(tag, attributes) {
  const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
  return shape;
}

function moment(time, hours) {
  return new Date(time).toLocaleString(undefined, hours > 168
    ? { day: "numeric", month: "short" } : { weekday: "short", hour: "2-digit", minute: "2-digit" });
}

let chosen = -1;
function drawChart() {
  const hours = Number(document.querySelector("input[name=range]:checked").value);
  const all = buckets(hours);
  const most = Math.max(1, ...all.map((one) => one.lookups));
  const width = 1000, height = 100, each = width / all.length, gap = Math.min(3, each * 0.25);
  const chart = drawn("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", tabindex: 0,
    "aria-label": `Lookups in the last ${hours} hours; arrow keys tell of each part` });
  for (const y of [0, 50, 100]) chart.append(drawn("line", { class: "grid", x1: 0, x2: width, y1: y, y2: y }));
  const mark = drawn("rect", { class: "chosen", y: 0, height, width: each, visibility: "hidden" });
  chart.append(mark);
  const line = [];
  all.forEach((one, i) => {
    const whole = one.lookups / most * height, hit = one.hits / most * height, x = i * each + gap / 2;
    if (whole > hit) chart.append(drawn("rect", { class: "other", x, width: each - gap, y: height - whole, height: whole - hit }));
    if (hit > 0) chart.append(drawn("rect", { class: "hit", x, width: each - gap, y: height - hit, height: hit }));
    if (one.lookups) line.push(`${(i + 0.5) * each},${height - one.hits / one.lookups * height}`);
  });
  if (line.length > 1) chart.append(drawn("polyline", { class: "rate", points: line.join(" ") }));
  const tell = (i) => {
    chosen = i;
    const one = all[i];
    mark.setAttribute("visibility", one ? "visible" : "hidden");
    mark.setAttribute("x", i * each);
    byId("readout").textContent = one
      ? `${moment(one.start, hours)}: ${count(one.hits)} of ${times(one.lookups, "lookup", "lookups")} hit, ${times(one.compiles, "compile", "compiles")}, ${span(one.saved)} saved`
      : `at most ${times(most, "lookup", "lookups")} in one bar`;
  };
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    tell(Math.min(all.length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * all.length))));
  });
  chart.addEventListener("pointerleave", () => tell(-1));
  chart.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") tell(Math.max(0, (chosen < 0 ? all.length : chosen) - 1));
    else if (event.key === "ArrowRight") tell(Math.min(all.length - 1, chosen + 1));
  });
  const axis = make("div", "axis", make("span", "", moment(all[0].start, hours)), make("span", "", moment(all.at(-1).start, hours)));
  const focused = document.activeElement?.closest?.("#chart");
  byId("chart").replaceChildren(chart, axis);
  if (focused) chart.focus();
  tell(chosen < all.length ? chosen : -1);
}

function bar(share) {
  const inside = make("i");
  inside.style.width = Math.min(100, share * 100) + "%";
  return make("div", "bar", inside);
}

function item(name, figure, share, note) {
  const all = make("div", "item", make("div", "top", make("span", "name", ...[].concat(name)), make("span", "n", figure)));
  if (share !== null) all.append(bar(share));
  all.append(make("p", "note", note));
  return all;
}

function drawCompilers() {
  const all = facts.stats.compilers.filter((one) => one.hits + one.compiles).sort((a, b) => b.hits + b.compiles - a.hits - a.compiles);
  fill("compilers", all.map((one) => {
    const share = one.hits / (one.hits + one.compiles);
    return item(one.name, percent(share) + " %", share, `${times(one.hits, "hit", "hits")}, ${times(one.compiles, "compile", "compiles")}; ` +
      `${span(one.compile_seconds_saved)} saved, ${span(one.compile_seconds_spent)} spent`);
  }), "No compiler was asked yet.");
}

const speeds = (latency) => latency.p50 ? `half of the hits within ${span(latency.p50)}, 99 % within ${span(latency.p99)}` : "no hits timed";

function drawTiers() {
  fill("tiers", facts.stats.tiers.filter((tier) => !tier.remote).map((tier) => {
    const limit = tier.capacity_bytes;
    const notes = [times(tier.entries, "entry", "entries"), times(tier.hits, "hit", "hits"), times(tier.evictions, "eviction", "evictions")];
    const unused = facts.longest_unused[tier.name];
    if (unused) notes.push("longest unused for " + age(unused).replace(" ago", ""));
    if (tier.hits) notes.push(speeds(tier.latency_seconds));
    return item(tier.name, bytes(tier.used_bytes) + (limit ? " of " + bytes(limit) : ""), limit ? tier.used_bytes / limit : null,
      notes.join("; "));
  }), "No tier is open.");
}

function drawServers() {
  const servers = facts.stats.tiers.filter((tier) => tier.remote);
  byId("of-servers").hidden = !servers.length;
  fill("servers", servers.map((tier) => {
    const state = tier.remote.state;
    const notes = [tier.remote.server, times(tier.hits, "hit", "hits"), times(tier.outages, "outage", "outages"), speeds(tier.latency_seconds)];
    if (tier.remote.problem) notes.push(tier.remote.problem);
    return item([tier.name, " ", make("span", "pill " + state, state)], tier.latency_seconds.p50 ? span(tier.latency_seconds.p50) : "", null, notes.join("; "));
  }), "");
}

const of = (one) => [one.compiler, one.target].filter(Boolean).join(", ");

function drawSlowest() {
  const all = facts.events.filter((event) => event.kind === "compile").sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  fill("slowest", all.map((event) => {
    const name = make("span", "name", event.label || event.key.slice(0, 12), make("span", "of", [of(event), age(event.when)].filter(Boolean).join(", ")));
    const row = make("button", "row", name, make("span", "pill" + (event.failed ? " failed" : event.after_ready ? " late" : ""),
      event.failed ? "failed" : event.after_ready ? "after ready" : event.why), make("span", "n", span(event.seconds)));
    row.type = "button";
    row.addEventListener("click", () => openEntry(event.key, event));
    return row;
  }), "Nothing was compiled yet.");
}

function drawFaults() {
  const all = facts.events.filter((event) => event.kind === "fault").reverse().slice(0, 20);
  fill("faults", all.map((event) => make("div", "fault", make("span", "dim", age(event.when)), make("span", "", event.text))), "None: nothing went wrong lately.");
}

// ---- entries, a page at a time

let from = 0;
let asked = 0;
function wanted() {
  return { sort: document.querySelector("input[name=sort]:checked").value, search: byId("search").value.trim(), from, count: ROWS };
}

// What a server does for a page that has none.
function searchHere(query) {
  const words = query.search.toLowerCase();
  const found = facts.entries.by[query.sort].map((i) => facts.entries.rows[i]).filter((row) =>
    [row.label, row.compiler, row.target].some((text) => text.toLowerCase().includes(words)) || row.key.startsWith(words));
  return { ready: true, total: facts.entries.total, matching: query.search ? found.length : facts.entries.total, kept: found.length,
    entries: found.slice(query.from, query.from + query.count) };
}

async function loadEntries() {
  const number = ++asked;
  let answer;
  try {
    answer = live ? await ask("api/entries?" + new URLSearchParams(wanted())) : searchHere(wanted());
  } catch (problem) {
    return lost(problem);
  }
  if (number !== asked) return; // a later one is under way
  if (!answer.ready) {
    byId("where").textContent = "Looking through the cache ...";
    setTimeout(loadEntries, 300);
    return;
  }
  const last = Math.min(from + answer.entries.length, answer.matching);
  byId("rows").replaceChildren(...answer.entries.map((row) => {
    const name = make("button", "", row.label || row.key.slice(0, 12));
    name.type = "button";
    name.title = row.label;
    name.addEventListener("click", () => openEntry(row.key, null, row));
    const cell = (text, kind) => make("td", kind, text);
    return make("tr", "", make("td", "", name), cell(row.compiler, "dim"), cell(row.target, "dim"), cell(bytes(row.stored_bytes), "n"),
      cell(count(row.uses), "n"), cell(row.cost_seconds ? span(row.cost_seconds) : "–", "n"), cell(age(row.last_used), "n dim"));
  }));
  const most = answer.kept ?? answer.matching;
  byId("where").textContent = !answer.matching ? (answer.total ? "Nothing matches." : "There is nothing in the cache.")
    : `${count(from + 1)} to ${count(last)} of ${count(answer.matching)}` +
      (answer.matching < answer.total ? ` (${count(answer.total)} in all)` : most < answer.matching ? ` (the first ${count(most)} are in this file)` : "");
  byId("back").disabled = from === 0;
  byId("next").disabled = last >= most;
}

function describe(list, name, value, kind) {
  if (value !== "" && value !== null && value !== undefined) list.append(make("dt", "", name), make("dd", kind || "", value));
}

function drawEntry(detail, event) {
  const parts = [];
  const list = make("dl");
  describe(list, "Compiler", detail.compiler);
  describe(list, "Target", detail.target);
  describe(list, "Options", (detail.options || []).join(" "), "mono");
  if (detail.bytes !== undefined) describe(list, "Size", `${bytes(detail.bytes)} (${bytes(detail.stored_bytes)} stored)`);
  describe(list, "Compiling it took", detail.cost_seconds ? span(detail.cost_seconds) : "");
  if (detail.uses !== undefined) describe(list, "Used", `${times(detail.uses, "time", "times")}, last ${age(detail.last_used)}`);
  describe(list, "Stored", detail.created ? age(detail.created) : "");
  describe(list, "In", (detail.tiers || []).join(", "));
  describe(list, "Key", detail.key, "mono");
  parts.push(list, make("h3", "", "Why it was compiled"));
  if (event) parts.push(make("p", "", REASONS[event.why] || event.why));
  if (!detail.nearest)
    parts.push(make("p", "note", detail.why_not || "Nothing like it was in the cache before: it was the first of its kind."));
  else {
    parts.push(make("p", "", `The nearest earlier entry is ${detail.nearest.label || detail.nearest.key.slice(0, 12)} (${age(detail.nearest.created)}). What is different:`));
    for (const one of detail.differences) {
      const sides = make("dl");
      describe(sides, "here", one.here);
      describe(sides, "there", one.there);
      parts.push(make("div", "diff", make("b", "", one.field), sides));
    }
  }
  if (facts.changes && detail.bytes !== undefined) {
    const remove = make("button", "change", "Remove this entry");
    remove.type = "button";
    remove.addEventListener("click", async () => {
      if (await change("api/remove?" + new URLSearchParams({ key: detail.key }))) byId("detail").close();
    });
    parts.push(remove);
  }
  byId("detail-body").replaceChildren(...parts);
}

const REASONS = {
  absent: "No tier had it.", corrupt: "The entry was damaged, and was not served.", other_version: "The entry is of another format version.",
  expired: "The entry had expired.", timeout: "A tier did not answer in time.", outage: "A tier could not be asked.",
  past_the_cache: "It went past the cache: its result cannot be kept.", untrusted: "The entry was not signed by a trusted key.",
};

async function openEntry(key, event, row) {
  byId("detail-title").textContent = (row || event).label || key.slice(0, 12);
  byId("detail-body").replaceChildren(make("p", "note", "Looking ..."));
  byId("detail").showModal();
  let detail = { ...(row || event), key };
  if (!live) detail = { ...detail, ...(facts.details[key] || { why_not: "This file keeps the comparison for the slowest compiles only." }) };
  else {
    try {
      detail = await ask("api/entries/" + key);
    } catch (problem) {
      detail.why_not = problem.message;
    }
  }
  drawEntry(detail, event);
}

// ---- a server

async function ask(path, how) {
  const answer = await fetch(path, { cache: "no-store", credentials: "same-origin", ...how });
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
  return answer.json();
}

function lost(problem) {
  byId("state").className = "lost";
  byId("state").textContent = problem instanceof TypeError ? "The server does not answer." : problem.message;
}

async function change(path) {
  try {
    await ask(path, { method: "POST", headers: { "X-Hearth": "change" } });
  } catch (problem) {
    lost(problem);
    return false;
  }
  await look();
  await loadEntries();
  return true;
}

function draw() {
  byId("welcome").hidden = facts.stats.lookups + facts.stats.stores > 0;
  byId("place").textContent = facts.directory;
  byId("about").textContent = `Hearth ${facts.version}. ${facts.live ? "" : "Written " + new Date(facts.time).toLocaleString() + "."}`;
  byId("state").className = "";
  byId("state").textContent = live ? "live" : "as of " + new Date(facts.time).toLocaleString();
  for (const id of ["collect", "reset"]) byId(id).hidden = !facts.changes;
  drawHero();
  drawChart();
  drawCompilers();
  drawTiers();
  drawServers();
  drawSlowest();
  drawFaults();
}

async function look() {
  try {
    facts = await ask("api/page");
    draw();
  } catch (problem) {
    lost(problem);
  }
}

byId("range").addEventListener("change", () => { chosen = -1; drawChart(); });
byId("sort").addEventListener("change", () => { from = 0; loadEntries(); });
let typing;
byId("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { from = 0; loadEntries(); }, 120);
});
byId("back").addEventListener("click", () => { from = Math.max(0, from - ROWS); loadEntries(); });
byId("next").addEventListener("click", () => { from += ROWS; loadEntries(); });
byId("collect").addEventListener("click", () => change("api/gc"));
byId("reset").addEventListener("click", () => { if (confirm("Set all counts of this directory to 0?")) change("api/reset"); });

draw();
loadEntries();
if (live) setInterval(() => { if (!document.hidden) look(); }, EVERY);
