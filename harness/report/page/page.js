// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Builds the page of one run, or of a suite. What comes from outside is set as text only.
'use strict';

const runs = JSON.parse(document.getElementById('data').textContent);
// Steps and values are stored as differences from the one before.
for (const ledger of runs.flatMap((run) => run.ledgers)) {
  let [step, value] = [0, 0];
  ledger.points = ledger.steps.map((more, i) => [step += more, value += ledger.values[i]]);
  ledger.is_constant = ledger.values.slice(1).every((more) => more === 0);
}
const MEANING = {
  leak: 'Memory that the step takes never stops growing: it will run out.',
  clean: 'Memory that the step takes has stopped growing.',
  inconclusive: 'This run could not tell. What would settle it stands below.',
  failure: 'The run failed before there was a verdict.',
};
const LEDGERS = {
  live_bytes: 'Memory of tensors that are alive', live_blocks: 'Allocations of tensors that are alive',
  live_nodes: 'Autograd nodes that are alive: graphs of past steps', live_tensors: 'Tensors that are alive',
  python_objects: 'Objects that Python tracks', frozen_deaths: 'Of these, set apart while the run went on, and dead',
  peak_bytes: 'The most tensor memory within a step',
  heap_bytes: 'The host heap in use (noisy)', resident_bytes: 'Memory of the process, RSS (noisy)',
  children_bytes: 'Memory of child processes, PSS (noisy)',
  reserved_bytes: 'Memory that the caching allocator has reserved', outside_bytes: 'Device memory outside torch (noisy)',
  shared_bytes: 'Memory shared with other processes', pinned_bytes: 'Page-locked host memory',
};

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function chart(box, label, option) {
  const picture = make('div', { class: 'chart', role: 'img', 'aria-label': label });
  box.append(picture);
  place(picture, option);
  return picture;
}

function section(box, title, hint) {
  box.append(make('h2', {}, title));
  if (hint) box.append(make('p', { class: 'hint' }, hint));
}

function addSources(box, run) {
  if (run.sources.length === 0) return;
  section(box, 'The lines', 'As the files read when this page was written.');
  for (const source of run.sources) {
    box.append(make('h3', {}, source.file + ':' + source.line + ' — ' + source.role));
    box.append(make('pre', { class: 'source', tabindex: '0' }, ...coloured(source).map((pieces, i) => {
      const number = make('i', {}, String(source.first + i));
      return source.first + i === source.line ? make('mark', {}, number, ...underlined(pieces)) : make('span', {}, number, ...pieces);
    })));
  }
}

// The pieces of each line. An excerpt that begins within a string or a comment of several lines reads otherwise than its
// file: colours help the eye, and say nothing that the text does not.
function coloured(source) {
  const language = /\.pyi?$/.test(source.file) ? 'python' : 'cpp';
  const lines = [[]];
  const add = (token, kind) => {
    if (Array.isArray(token)) return token.forEach((part) => add(part, kind));
    if (typeof token !== 'string') return add(token.content, token.type);
    token.split('\n').forEach((text, i) => {
      if (i > 0) lines.push([]);
      if (text) lines[lines.length - 1].push(kind ? make('span', { class: 'code-' + kind }, text) : text);
    });
  };
  add(Prism.tokenize(source.lines.join('\n'), Prism.languages[language]), '');
  return lines.map((pieces) => (pieces.length > 0 ? pieces : [' ']));
}

// The statement without what indents it.
function underlined(pieces) {
  const [first, ...rest] = pieces;
  if (typeof first !== 'string') return [make('u', {}, ...pieces)];
  return [first.slice(0, first.length - first.trimStart().length), make('u', {}, first.trimStart(), ...rest)];
}

function addHolders(box, run) {
  const held = run.findings.filter((finding) => finding.holder.length > 0);
  if (held.length === 0) return;
  section(box, 'Who keeps it', 'From a name in your program to what stays. The container that grows is drawn bold.');
  for (const finding of held) {
    box.append(make('ol', { class: 'path' }, ...finding.holder.map(([by, what, isContainer], i) => {
      const node = make(isContainer ? 'strong' : 'span', { class: 'object' + (i === 0 ? ' root' : '') }, what);
      return make('li', {}, i > 0 ? make('span', { class: 'edge' }, by) : null, node);
    })));
  }
}

// A sentence for those who do not see the picture.
function agesText(device) {
  const [step, births, sizes] = device.looks[device.looks.length - 1];
  const sum = sizes.reduce((a, b) => a + b, 0);
  return 'Ages on ' + device.name + ': at step ' + step + ' something is alive of ' + births.length + ' steps, ' + bytes(sum);
}

function addSurvivors(box, run) {
  section(box, 'What the recorded steps left behind', 'By the calls that made it: the step above, the line that took the memory below; ' +
    'wide is much. A click or Enter opens a part, arrows move, Escape goes back.');
  box.append(icicle('What stayed, by stack', treeOfStacks(run)));
  const places = new Map();
  for (const [stack, count, size, op, folded] of run.survivors) {
    const users = stack.find((number) => run.frames[number][1]);
    const name = folded > 0 ? folded + ' more' : users !== undefined ? run.frames[users][0] :
      stack.length > 0 ? 'code of libraries' : 'a place that was not seen';
    const place = places.get(name) || { count: 0, size: 0, op };
    places.set(name, { count: place.count + count, size: place.size + size, op: place.op || op });
  }
  box.append(table('The same by the line of yours that made it', ['place', 'alive', 'bytes', 'made by'],
    [...places].map(([name, each]) => make('tr', {}, make('td', {}, name), make('td', { class: 'number' }, String(each.count)),
      make('td', { class: 'number' }, bytes(each.size)), make('td', {}, each.op)))));
}

function addHeld(box, run) {
  if (run.held.length === 0) return;
  section(box, 'What keeps it, in all', 'From the names in your program, above, to what stays; the containers are marked, and what ' +
    'is kept alike is one box: of a list, all its entries. Without the native heap’s memory, which is known by its calls only.');
  box.append(icicle('What stayed, by holder', treeOfHolders(run)));
  const rows = run.held.map((row) => make('tr', {}, make('td', {}, wayOf(run, row).map(([name]) => name).join(' ')),
    make('td', { class: 'number' }, String(row[1])), make('td', { class: 'number' }, bytes(row[2]))));
  box.append(table('The same as a table', ['holder', 'alive', 'bytes'], rows));
}

function table(caption, titles, rows) {
  const head = titles.map((title) => make('th', { scope: 'col', class: ['alive', 'bytes', 'steps', 'loses a step'].includes(title) ? 'number' : '' }, title));
  return make('div', { class: 'wide' }, make('table', {}, caption ? make('caption', {}, caption) : null,
    make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows)));
}

function addPictures(box, run) {
  if (run.ages.length > 0) {
    section(box, 'What is still alive, by the step of its birth',
      'A leak fills the triangle. A cache is a band that stops getting wider. What was made once is a single line.');
    for (const device of run.ages) chart(box, agesText(device), (width) => agesOption(run, device, width));
  }
  if (run.survivors.length > 0) addSurvivors(box, run);
  addHeld(box, run);
  if (run.verdict === 'leak' && run.ages.length + run.survivors.length === 0) {
    box.append(make('p', { class: 'hint' }, 'What is alive by the step of its birth, and by stack, is not in this result: ' +
      'stepleak run --trace FILE keeps it, and stepleak analyze FILE --html PAGE draws it.'));
  }
  section(box, 'The ledgers, step by step', 'Dotted lines: the judge looked. Shaded: steps that were recorded, or that filled ' +
    'a container. ' + (run.marks.length > 0 ? 'Upright lines: an epoch began; dashed ones: an evaluation. ' : '') +
    'To zoom drag the slider, hold Ctrl and turn the wheel, or choose a picture with Tab: + and - zoom, arrows move, 0 shows all. ' +
    (run.reduced ? ' Drawn of each ledger are the first, lowest, highest and last value of each stretch.' : ''));
  const word = (ledger) => ledger.name.split(/[@/]/)[0];
  const places = Object.keys(LEDGERS);
  const place = (ledger) => (places.includes(word(ledger)) ? places.indexOf(word(ledger)) : places.length);
  for (const ledger of run.ledgers.slice().sort((a, b) => place(a) - place(b))) {
    const value = ledger.points.length > 0 ? ledger.points[ledger.points.length - 1][1] : 0;
    box.append(make('h3', {}, ledger.name), make('p', { class: 'hint' }, (LEDGERS[word(ledger)] || '') + ' · ' +
      (floorOf(ledger) > 0 && !ledger.is_constant ? 'drawn above ' + amount(ledger.name, floorOf(ledger)) + ', ' : '') +
      (ledger.is_constant ? 'constant at ' : 'at the end ') + amount(ledger.name, value)));
    if (ledger.is_constant) continue;
    const picture = chart(box, ledger.name + ' over the steps', () => ledgerOption(run, ledger));
    const said = make('p', { class: 'hint', role: 'status' });
    picture.setAttribute('tabindex', '0');
    picture.setAttribute('aria-keyshortcuts', '+ - ArrowLeft ArrowRight 0');
    picture.after(said);
    zoomByKeys(picture, run, ledger, said);
  }
}

// A line each: one that is wider than the page goes on below.
function reportOf(run) {
  const lines = run.report.trimEnd().split('\n');
  return make('pre', { class: 'report', tabindex: '0', 'aria-label': 'The report' }, ...lines.map((line) => make('span', {}, line || ' ')));
}

function addRun(box, run) {
  box.append(make('p', {}, make('span', { class: 'verdict ' + run.verdict }, run.verdict), ' ', MEANING[run.verdict] || ''));
  box.append(reportOf(run));
  if (run.differences.length > 0) {
    section(box, 'Differences from the baseline', 'It is ' + run.change + '. What is right after all: stepleak baseline update');
    box.append(make('ul', {}, ...run.differences.map((text) => make('li', {}, text))));
  }
  for (const note of run.notes) box.append(make('p', {}, 'Note: ' + note));
  addSources(box, run);
  addHolders(box, run);
  addPictures(box, run);
  section(box, 'Conditions', 'What was in force while it ran.');
  box.append(make('div', { class: 'wide' }, make('table', {}, make('tbody', {}, ...Object.entries(run.conditions).map(([name, value]) =>
    make('tr', {}, make('th', { scope: 'row' }, name), make('td', {}, value)))))));
}

const ORDER = { failure: 0, leak: 1, inconclusive: 2, clean: 3 };
// Of a gate: what turned it red comes first, whatever the verdict.
const CHANGES = ['worse', 'gone', 'new', 'other key', 'better', 'same'];
const isGate = runs.some((run) => run.change);

function compareRuns(a, b) {
  const byChange = isGate ? CHANGES.indexOf(a.change) - CHANGES.indexOf(b.change) : 0;
  return byChange || ORDER[a.verdict] - ORDER[b.verdict] || b.loss - a.loss || a.target.localeCompare(b.target);
}

function suiteRow(run, show) {
  const spark = make('div', { class: 'chart spark', 'aria-hidden': 'true' });
  const button = make('button', { class: 'link', type: 'button' }, run.target);
  button.addEventListener('click', () => show(run));
  const row = make('tr', {}, make('td', {}, make('span', { class: 'verdict ' + run.verdict }, run.verdict)), make('td', {}, button),
    make('td', { class: 'what' }, run.findings.map((finding) => finding.kind).join(', ') || run.reason), make('td', {}, spark),
    make('td', { class: 'number' }, run.loss > 0 ? bytes(run.loss) : ''), make('td', { class: 'number' }, String(run.steps)),
    isGate ? make('td', {}, [run.change, ...run.differences].join('; ')) : null);
  place(spark, () => sparkOption(run));
  return row;
}

function addSuite(top, main) {
  const sorted = runs.slice().sort(compareRuns);
  const counts = {};
  for (const run of runs) counts[run.verdict] = (counts[run.verdict] || 0) + 1;
  top.append(make('h1', {}, runs.length + ' runs: ' + Object.keys(ORDER).filter((verdict) => counts[verdict])
    .map((verdict) => counts[verdict] + ' ' + verdict).join(', ')));
  const search = make('input', { type: 'search', id: 'search', placeholder: 'name, kind, reason', 'aria-label': 'Filter the runs' });
  const boxes = Object.keys(counts).map((verdict) => make('input', { type: 'checkbox', checked: '', value: verdict }));
  const shown = make('span', { role: 'status' });
  main.append(make('div', { class: 'filters' }, search, ...boxes.map((box) => make('label', {}, box, ' ' + box.value)), shown));
  const detail = make('section', { tabindex: '-1', 'aria-label': 'The chosen run' });
  const show = (run) => {
    detail.replaceChildren(make('h1', {}, run.target));
    addRun(detail, run);
    detail.focus();
    detail.scrollIntoView();
  };
  const rows = sorted.map((run) => ({ run, row: suiteRow(run, show) }));
  const titles = ['verdict', 'run', 'what', 'tensor memory over the steps', 'loses a step', 'steps', ...(isGate ? ['baseline'] : [])];
  main.append(table('', titles, rows.map((each) => each.row)), detail);
  const filter = () => {
    const wanted = search.value.toLowerCase();
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    for (const { run, row } of rows) {
      const text = [run.target, run.reason, run.change, ...run.differences, ...run.findings.map((finding) => finding.kind)].join(' ').toLowerCase();
      row.hidden = !verdicts.has(run.verdict) || !text.includes(wanted);
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = count + ' of ' + runs.length + ' shown';
  };
  search.addEventListener('input', filter);
  for (const box of boxes) box.addEventListener('change', filter);
  filter();
}

const top_ = document.getElementById('top');
const main_ = document.getElementById('main');
if (runs.length === 1) {
  top_.append(make('h1', {}, runs[0].target));
  addRun(main_, runs[0]);
} else {
  addSuite(top_, main_);
}
library.then((isThere) => {
  if (!isThere) top_.append(make('p', { class: 'hint' }, 'This browser cannot unpack the pictures (DecompressionStream, since 2023): texts and tables are all here.'));
  document.documentElement.dataset.ready = 'yes';
});
