// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// The pictures of a run, by Apache ECharts. Texts of tooltips are drawn, never read as HTML.
'use strict';

const drawn = new Set();  // charts that are on the page, to be drawn anew in other colours or sizes

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return (value < 0 ? '-' : '') + size.toFixed(digits) + ' ' + units[unit];
}

function amount(ledger, value) {
  return /_bytes/.test(ledger) ? bytes(value) : String(value);
}

// The library comes as gzip in base64. A browser that cannot unpack it shows texts and tables alone.
async function loadLibrary() {
  const packed = Uint8Array.from(atob(document.getElementById('echarts').textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const script = document.createElement('script');
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}
const library = loadLibrary().then(() => true, () => { document.documentElement.dataset.pictures = 'none'; return false; });

// A chart is made once it comes into view: a page may hold hundreds.
function place(box, option) {
  const draw = () => {
    if (!window.echarts || echarts.getInstanceByDom(box)) return;
    const chart = echarts.init(box, null, { renderer: 'svg' });
    chart.setOption(option(box.clientWidth));
    drawn.add({ box, chart, option });
  };
  box.drawNow = draw;
  if (!('IntersectionObserver' in window)) { library.then(draw); return; }
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    library.then(draw);
  }, { rootMargin: '400px' });
  observer.observe(box);
}

function redraw(change) {
  for (const each of drawn) {
    if (!each.box.isConnected) { each.chart.dispose(); drawn.delete(each); continue; }
    change(each);
  }
}
const resize = (each) => each.chart.resize();
const recolour = (each) => { resize(each); each.chart.setOption(each.option(each.box.clientWidth)); };  // a zoom stays
window.addEventListener('resize', () => redraw(resize));
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw(recolour));
// Paper is light.
window.addEventListener('beforeprint', () => {
  document.documentElement.dataset.print = 'yes';
  redraw(recolour);
  for (const box of document.querySelectorAll('.chart')) if (box.drawNow) box.drawNow();
});
window.addEventListener('afterprint', () => {
  delete document.documentElement.dataset.print;
  redraw(recolour);
});

// From and to which part of the steps a key shows, in per cent.
function zoomed(key, { start, end }) {
  const span = end - start;
  const middle = (start + end) / 2;
  const wide = { '+': span / 2, '=': span / 2, '-': span * 2, ArrowLeft: span, ArrowRight: span, 0: 100, Home: 100 }[key];
  if (wide === undefined) return null;
  const aim = middle + ({ ArrowLeft: -span / 4, ArrowRight: span / 4 }[key] || 0);
  const width = Math.min(100, Math.max(0.1, wide));
  const from = Math.min(100 - width, Math.max(0, aim - width / 2));
  return { start: from, end: from + width };
}

function zoomByKeys(box, run, ledger, said) {
  box.addEventListener('keydown', (event) => {
    const chart = window.echarts && echarts.getInstanceByDom(box);
    if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
    const part = zoomed(event.key, chart.getOption().dataZoom[0]);
    if (!part) return;
    event.preventDefault();
    chart.dispatchAction({ type: 'dataZoom', dataZoomIndex: 0, ...part });
    const [from, to] = [part.start, part.end].map((share) => Math.round(share * run.steps / 100));
    const at = (step) => amount(ledger.name, ledger.points.reduce((last, [s, value]) => (s <= step ? value : last), ledger.points[0][1]));
    said.textContent = 'steps ' + from + ' to ' + to + ' of ' + run.steps + ': ' + at(from) + ' to ' + at(to);
  });
}

function base(description) {
  return {
    animation: false,
    aria: { enabled: true, label: { description } },
    textStyle: { color: colour('ink'), fontFamily: 'inherit' },
    tooltip: { renderMode: 'richText', confine: true, backgroundColor: colour('paper'), borderColor: colour('line'),
      textStyle: { color: colour('ink') } },
  };
}

function axis(extra) {
  return Object.assign({
    axisLabel: { color: colour('faint') }, nameTextStyle: { color: colour('faint') },
    axisLine: { lineStyle: { color: colour('line') } }, splitLine: { lineStyle: { color: colour('line') } },
  }, extra);
}

const PASS_WORDS = { record: 'recorded', fill: 'filling' };

// A level that hardly moves is drawn above its lowest value: else all labels of its axis would read the same.
function floorOf(ledger) {
  const values = ledger.points.map((point) => point[1]);
  const low = Math.min(...values);
  const high = Math.max(...values);
  return high - low < 0.1 * Math.abs(high) ? low : 0;
}

const MOST_MARKS = 100;
const MOST_NAMED_MARKS = 8;

// Epochs and evaluations, those of a step together; of more than a picture shows, some.
function marksOf(run) {
  const names = new Map();
  for (const [step, name] of run.marks) names.set(step, (names.has(step) ? names.get(step) + ', ' : '') + name);
  const stride = Math.ceil(names.size / MOST_MARKS);
  return [...names].filter((_, i) => i % stride === 0).map(([step, name]) => ({
    xAxis: step,
    lineStyle: { type: name.includes('epoch') ? 'solid' : 'dashed', width: 1, color: colour('green'), opacity: 0.7 },
    label: { show: names.size <= MOST_NAMED_MARKS, formatter: name, color: colour('faint'), fontSize: 10, position: 'end' },
  }));
}

function ledgerOption(run, ledger) {
  const floor = floorOf(ledger);
  const passes = run.passes.filter(([type]) => PASS_WORDS[type]).map(([type, from, to]) => [
    { name: PASS_WORDS[type], xAxis: from }, { xAxis: Math.max(to, from + 0.5) }]);
  return Object.assign(base(ledger.name + ' of ' + run.target + ' over its steps'), {
    grid: { left: 84, right: 24, top: 28, bottom: 72 },
    xAxis: axis({ type: 'value', name: 'step', nameLocation: 'middle', nameGap: 22, min: 0, max: run.steps, minInterval: 1, splitLine: { show: false } }),
    yAxis: axis({ type: 'value', scale: true, axisLabel: { color: colour('faint'),
      formatter: (v) => (floor > 0 && v > 0 ? '+' : '') + amount(ledger.name, v) } }),
    // The wheel alone is the page's.
    dataZoom: [{ type: 'inside', zoomOnMouseWheel: 'ctrl' }, { type: 'slider', height: 18, bottom: 8, borderColor: colour('line'), showDataShadow: false,
      textStyle: { color: colour('faint') } }],
    tooltip: Object.assign(base('').tooltip, { trigger: 'axis',
      formatter: (points) => 'after step ' + points[0].value[0] + ': ' + amount(ledger.name, points[0].value[1] + floor) +
        (floor > 0 ? ' (+' + amount(ledger.name, points[0].value[1]) + ')' : '') }),
    series: [{
      type: 'line', step: ledger.holds ? 'end' : false, showSymbol: ledger.points.length < 80, symbolSize: 4,
      data: ledger.points.map(([step, value]) => [step, value - floor]),
      lineStyle: { width: 2, color: colour('blue') }, itemStyle: { color: colour('blue') },
      markLine: { silent: true, symbol: 'none', label: { show: false }, lineStyle: { type: 'dotted', color: colour('faint') },
        data: run.looks.map((step) => ({ xAxis: step })).concat(marksOf(run)) },
      markArea: { silent: true, label: { color: colour('faint'), position: 'insideTop' },
        itemStyle: { color: colour('amber'), opacity: 0.14 }, data: passes },
    }],
  });
}

// Each column is a look, each row a step of birth: a leak fills the triangle, a cache a band, one-off state a line.
function agesOption(run, device, width) {
  const cells = [];
  let most = 1;
  device.looks.forEach(([, births, sizes], column) => births.forEach((birth, i) => {
    cells.push([column, birth, sizes[i]]);
    most = Math.max(most, sizes[i]);
  }));
  return Object.assign(base('What is alive on ' + device.name + ' by the step of its birth'), {
    grid: { left: 84, right: 24, top: 34, bottom: 48 },
    xAxis: axis({ type: 'category', name: 'alive at', nameLocation: 'middle', nameGap: 26, data: device.looks.map(([step]) => 'step ' + step), splitLine: { show: false } }),
    yAxis: axis({ type: 'value', name: 'born in step', min: 0, max: run.steps, minInterval: 1 }),
    visualMap: { show: false, min: 0, max: Math.log(most + 1), dimension: 3,
      inRange: { opacity: [0.35, 1] } },
    tooltip: Object.assign(base('').tooltip, {
      formatter: (point) => 'born in step ' + point.value[1] + ', alive at step ' + device.looks[point.value[0]][0] +
        ': ' + bytes(point.value[2]) }),
    series: [{ type: 'scatter', symbol: 'rect', symbolSize: [Math.max(3, Math.min(26, 0.8 * (width - 108) / device.looks.length)), 5], itemStyle: { color: colour('blue') },
      data: cells.map((cell) => cell.concat(Math.log(cell[2] + 1))) }],
  });
}

function sparkOption(run) {
  const ledger = run.ledgers.find((each) => each.name === run.telling) || run.ledgers[0];
  return {
    animation: false, aria: { enabled: false }, grid: { left: 2, right: 2, top: 3, bottom: 3 },
    xAxis: { type: 'value', show: false, min: 0, max: run.steps }, yAxis: { type: 'value', show: false, scale: true },
    series: [{ type: 'line', showSymbol: false, silent: true, data: ledger ? ledger.points : [],
      lineStyle: { width: 1.5, color: colour({ clean: 'green', inconclusive: 'amber' }[run.verdict] || 'red') } }],
  };
}
