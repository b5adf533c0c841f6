// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What the recorded steps left behind, by stack and by holder: boxes below those that called or keep them, as wide as their
// bytes.
//
// Of buttons, and not by ECharts: that has no such picture, and what it draws is one image to the keyboard and to a screen
// reader. Here each box can be reached by arrows, opened by Enter, and is read with its level, count and bytes. It is laid
// out anew for a narrow window and for paper, and is there where the browser cannot unpack ECharts.
'use strict';

const MOST_DEPTH = 24;

// Rows of a path (pairs: a name, and whether it is marked), a count, a size and the operator, as one tree. What has no
// bytes is as wide as a byte, so that it can be seen.
function treeOf(title, rows) {
  const nodeOf = (name, isMarked, parent) => ({ name, isMarked, count: 0, size: 0, op: '', children: new Map(), parent });
  const root = nodeOf(title, false, null);
  for (const [path, count, size, op] of rows) {
    let node = root;
    node.count += count;
    node.size += size;
    for (const [name, isMarked] of path.slice(0, MOST_DEPTH)) {
      if (!node.children.has(name)) node.children.set(name, nodeOf(name, isMarked, node));
      node = node.children.get(name);
      node.count += count;
      node.size += size;
    }
    node.op = node.op || op;
  }
  return root;
}

// Outermost frame first; the user's are marked.
function treeOfStacks(run) {
  return treeOf('the recorded steps', run.survivors.map(([stack, count, size, op, folded]) => {
    const unseen = folded > 0 ? folded + ' more stacks' : 'a place that was not seen';
    return [stack.length > 0 ? stack.slice().reverse().map((number) => run.frames[number]) : [[unseen, false]], count, size, op];
  }));
}

// Of a row of what is held: what is written of each object on the way to it, and whether that is the container.
function wayOf(run, [path, , , folded]) {
  if (path.length === 0) return [[folded > 0 ? folded + ' more holders' : 'a holder that was not found', false]];
  return path.map((number) => run.objects[number]).map(([by, what, isContainer]) => [(by + ' ' + what).trim(), isContainer]);
}

// From a name in the program on; the containers that keep are marked.
function treeOfHolders(run) {
  return treeOf('the program', run.held.map((row) => [wayOf(run, row), row[1], row[2], '']));
}

function childrenOf(node) {
  return [...node.children.values()].sort((a, b) => b.size - a.size || b.count - a.count);
}

function textOf(node) {
  return node.name + ': ' + node.count + ' alive, ' + bytes(node.size) + (node.op ? ', made by ' + node.op : '');
}

function icicle(label, root) {
  const picture = make('div', { class: 'icicle', role: 'tree', 'aria-label': label });
  const said = make('p', { class: 'hint', 'aria-hidden': 'true' });
  const isWeighed = root.size > 0;
  const weight = (node) => Math.max(isWeighed ? node.size : node.count, 1);
  const buttons = new Map();
  let opened = root;

  const boxOf = (node, level) => {
    const button = make('button', { type: 'button', role: 'treeitem', 'aria-level': String(level), 'aria-label': textOf(node),
      tabindex: node === opened ? '0' : '-1', class: node.isMarked ? 'marked' : '' }, node.name);
    buttons.set(node, button);
    button.addEventListener('click', () => open(node === opened && node.parent ? node.parent : node));
    button.addEventListener('keydown', (event) => move(event, node));
    for (const type of ['focus', 'mouseenter']) button.addEventListener(type, () => { said.textContent = textOf(node); });
    return button;
  };
  const columnOf = (node, level) => {
    const column = make('div', { class: 'node', role: 'none' }, boxOf(node, level));
    column.style.flex = weight(node) + ' 1 0';
    const below = childrenOf(node);
    if (below.length > 0) column.append(make('div', { class: 'row', role: 'none' }, ...below.map((child) => columnOf(child, level + 1))));
    return column;
  };
  const draw = () => {
    buttons.clear();
    const above = [];
    for (let node = opened.parent; node; node = node.parent) above.unshift(node);
    picture.replaceChildren(...above.map((node, i) => boxOf(node, i + 1)), columnOf(opened, above.length + 1));
    said.textContent = textOf(opened);
  };
  const open = (node) => {
    opened = node;
    draw();
    buttons.get(node).focus();
  };
  const move = (event, node) => {
    const beside = node.parent ? childrenOf(node.parent) : [node];
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const to = event.key === 'ArrowUp' ? node.parent : event.key === 'ArrowDown' ? childrenOf(node)[0] :
      step ? beside[beside.indexOf(node) + step] : undefined;
    if (event.key === 'Escape' && opened.parent) open(opened.parent);
    else if (buttons.has(to)) buttons.get(to).focus();
    else if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
  };
  draw();
  return make('div', {}, picture, said);
}
