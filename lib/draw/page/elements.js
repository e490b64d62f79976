// Elements of the page, and helpers that all views use.

const byId = (id) => document.getElementById(id);

const on = (id, event, act) => byId(id).addEventListener(event, act);

// An element with a text or a list of parts, of which those that are empty or false are left out.
function element(name, parts = '', className = '', attributes = {}) {
    const made = document.createElement(name);
    const list = Array.isArray(parts) ? parts : [parts === 0 ? '0' : parts];
    made.append(...list.filter(Boolean));
    if (className) made.className = className;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
}

function buttonFor(act, parts, className = '', attributes = {}) {
    const button = element('button', parts, className, { type: 'button', ...attributes });
    button.addEventListener('click', act);
    return button;
}

const memos = new WeakMap(); // by object, and name

// What is made once for an object, under a name.
function once(owner, name, make) {
    if (!memos.has(owner)) memos.set(owner, new Map());
    const made = memos.get(owner);
    if (!made.has(name)) made.set(name, make());
    return made.get(name);
}

function setText(id, words) {
    if (byId(id).textContent !== words) byId(id).textContent = words;
}

const HOVERS = { mouseenter: true, mouseleave: false };
const POINTS = { ...HOVERS, focus: true, blur: false };

// Call act(true) when the pointer or the focus reaches an element, and act(false) when it leaves.
function onPoint(one, act, events = POINTS) {
    for (const [event, isOn] of Object.entries(events))
        one.addEventListener(event, () => act(isOn));
}

// An element of SVG.
function shape(name, attributes = {}, text = '') {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
}

// One of the symbols in body.html.
function icon(name) {
    const svg = shape('svg', { class: 'icon', 'aria-hidden': 'true' });
    svg.append(shape('use', { href: `#i-${name}` }));
    return svg;
}

// An element for each item of a list, reused while its item is unchanged.
function keepOrMake(box, list, make) {
    list.forEach((one, at) => {
        const [old, shows] = [box.children[at], JSON.stringify(one)];
        if (old?.dataset.shows === shows) return;
        const held = old && old === document.activeElement;
        const made = make(one);
        made.dataset.shows = shows;
        if (old) old.replaceWith(made);
        else box.append(made);
        if (held) made.focus();
    });
    while (box.children.length > list.length) box.lastChild.remove();
}

// Buttons of which one is pressed, for entries [value, words, attributes].
function drawSegments(box, entries, chosen, choose) {
    const facts = entries.map((entry) => [...entry, entry[0] === chosen]);
    keepOrMake(box, facts, ([value, words, marks, pressed]) =>
        buttonFor(() => choose(value), words, '', { ...marks, 'aria-pressed': pressed }),
    );
}

function fill(select, entries, chosen) {
    const made = ([value, name]) => new Option(name, value, false, `${value}` === `${chosen}`);
    select.replaceChildren(...entries.map(made));
}

// A bar on its track: `share` from 0 to 1; with `signed` it starts at the middle.
function meter(share, { signed, ghost, quiet } = {}) {
    const size = clamp(Math.abs(share), 0, 1) || 0;
    const bar = element('i', '', share < 0 ? 'below' : quiet ? 'quiet' : '');
    bar.style.width = `${(signed ? 50 : 100) * size}%`;
    if (signed) bar.style.left = `${share < 0 ? 50 - 50 * size : 50}%`;
    const marks = [ghost && element('span', '', 'ghost'), signed && element('span', '', 'axis')];
    return element('span', [bar, ...marks], 'meter');
}

function headerCell(text, scope) {
    return element('th', text, '', { scope });
}

// A table in a region of its own, in which it scrolls, and which the keyboard reaches.
const tableRegion = (name, table) =>
    element('div', table, 'wide', { role: 'region', tabindex: 0, 'aria-label': name });

function clamp(value, least, most) {
    return Math.min(Math.max(value, least), most);
}

// Scroll a box, not the page, to show the element, in the next frame because it needs the layout.
function reveal(box, one) {
    requestAnimationFrame(() => {
        if (!box.contains(one)) return;
        const [frame, place] = [box, one].map((part) => part.getBoundingClientRect());
        box.scrollTop += Math.min(place.top - frame.top - 4, 0);
        box.scrollTop += Math.max(place.bottom - frame.bottom + 4, 0);
    });
}

function quoted(label) {
    return `“${isolated(label)}”`;
}

// "0.0, 1.1 and 1.3"
const listed = (parts) => new Intl.ListFormat(isChinese() ? 'zh' : 'en-GB').format(parts);

function percent(share) {
    if (share < 0.0005) return '< 0.1 %';
    return share > 0.999 && share < 1 ? '> 99.9 %' : `${(100 * share).toFixed(1)} %`;
}

// A share in a sentence: "94 %"; with a decimal near 0 and 1, where a part of a percent matters.
function roundShare(share) {
    return share >= 0.995 || share < 0.0095 ? percent(share) : `${(100 * share).toFixed(0)} %`;
}

// Two decimals, or a dash for a mean of nothing.
function meanText(value) {
    return Number.isNaN(value) ? '–' : value.toFixed(2);
}

function minus(text) {
    return text.replace('-', '−');
}

function signedText(value, digits) {
    return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

// Four significant digits; the table has the exact number.
function brief(value) {
    if (value === -Infinity) return '−∞';
    return minus(String(Number(value.toPrecision(4))));
}

// The step in rows and columns of an arrow key, or null. Stops the event.
function arrowOf(event) {
    const step = { Left: [0, -1], Right: [0, 1], Up: [-1, 0], Down: [1, 0] }[
        event.key.replace('Arrow', '')
    ];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return null;
    event.preventDefault();
    event.stopPropagation();
    return step;
}

// Tab reaches one element of a group, arrow keys the others; `across`: columns of a grid.
function rove(group, selector, across = 1) {
    const items = () => [...group.querySelectorAll(selector)];
    const reach = (chosen) => items().forEach((one) => (one.tabIndex = one === chosen ? 0 : -1));
    reach(group.querySelector(`${selector}[aria-pressed="true"]`) || items()[0]);
    group.dataset.across = across;
    if (group.dataset.roves) return;
    group.dataset.roves = 'true';
    group.addEventListener('focusin', (event) => {
        if (!event.target.matches(selector)) return;
        reach(event.target);
        event.target.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    });
    group.addEventListener('keydown', (event) => {
        const step = event.target.matches(selector) && arrowOf(event);
        if (!step) return;
        const list = items();
        const by = step[0] * Number(group.dataset.across) + step[1];
        list[list.indexOf(event.target) + by]?.focus();
    });
}

// --- data and commands -------------------------------------------------------------------------

function bytesOf(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// A word of a command line, quoted for a shell.
function shellWord(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// A command with a button that copies it.
function commandLine(text) {
    const copy = buttonFor(() => copyText(text, copy), say('Copy'));
    return element('p', [element('code', text, '', { tabindex: 0 }), copy], 'command');
}

// Copy a text, and say on the button whether that was allowed: only pages of files and of https
// have a clipboard, and a browser may refuse it.
async function copyText(text, button) {
    const isCopied = await Promise.resolve(navigator.clipboard?.writeText(text).then(() => true))
        .catch(() => false);
    const words = isCopied ? 'Copied' : 'Not copied: the browser refuses';
    announce(words);
    if (button.className) return; // the label already reports a copy
    const before = { textContent: button.textContent, className: '' };
    Object.assign(button, { textContent: say(words), className: 'copied' });
    setTimeout(() => Object.assign(button, before), 2000);
}
