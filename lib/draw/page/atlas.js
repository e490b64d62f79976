// The atlas of a corpus: all heads as points or cells, and one head with its examples.

const atlas = JSON.parse(byId('atlas').textContent);
const look = { language: 'en' };
const state = {
    lang: null,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    view: 'scatter',
    x: 0,
    y: 0,
    colour: 'layer',
    differs: false,
    head: null,
    interval: null,
};
const { scores } = atlas;
const nameOf = ({ layer, head }) => `L${layer}H${head}`;
const keyOf = ({ layer, head }) => `${layer}.${head}`;

// --- data ----------------------------------------------------------------------------------------

const objectsOf = ({ columns, rows }) =>
    rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at]])));

const heads = objectsOf(atlas.heads).map((row, at) => ({
    ...atlas.about[at],
    layer: row.layer,
    head: row.head,
    role: row.role ?? '',
    values: scores.map((name) => row[name]),
    pairs: [],
    promotes: [],
}));
const headOf = new Map(heads.map((one) => [keyOf(one), one]));
for (const pair of objectsOf(atlas.pairs)) headOf.get(keyOf(pair)).pairs.push(pair);
for (const row of objectsOf(atlas.promotes)) {
    const { promotes } = headOf.get(keyOf(row));
    if (row.rank === 1) promotes.push({ key: row.key_token, raises: [], lowers: [] });
    promotes.at(-1).raises.push(row.raises);
    promotes.at(-1).lowers.push(row.lowers);
}

// The entries of a large atlas are in a script for each head, which calls this function.
window.takeEntries = (key, entries) => {
    headOf.get(key).entries = entries;
    if (state.head === headOf.get(key)) drawHead();
};

function loadEntries(one) {
    if (one.entries || one.source) return;
    one.source = `heads/${nameOf(one)}.js`;
    const script = element('script', '', '', { src: one.source });
    script.addEventListener('error', () => {
        one.isMissing = true;
        if (state.head === one) drawHead();
    });
    document.head.append(script);
}

// --- numbers -------------------------------------------------------------------------------------

// The number of a head on an axis or as a colour: a score, its difference from the other atlas, or
// the layer.
function valueOf(one, by) {
    if (by === 'layer') return one.layer;
    const value = one.values[by];
    if (!state.differs || value === null) return value;
    return one.others?.[by] == null ? null : value - one.others[by];
}

function rangeOf(by) {
    const values = heads.map((one) => valueOf(one, by)).filter((value) => value !== null);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const low = by === 'layer' || state.differs ? least : Math.min(0, least);
    return [low, most > low ? most : low + 1];
}

function shareOf(one, by) {
    const [low, high] = rangeOf(by);
    const value = valueOf(one, by);
    return value === null ? null : (value - low) / (high - low);
}

// A colour from pale to strong; none is grey.
function colourOf(share) {
    if (share === null) return 'var(--masked)';
    return `color-mix(in oklab, var(--mark) ${(100 * share).toFixed(1)}%, var(--faint))`;
}

const numberText = (value) =>
    (value === null ? '–' : minus(String(Number(value.toPrecision(3)))));

// The entries of an example: for each query a list of [key, weight].
function entriesOf(text) {
    const bytes = bytesOf(text);
    const rows = [];
    for (let at = 0; at < bytes.length;) {
        const row = Array.from({ length: bytes[at++] }, (_, i) => [
            bytes[at + 3 * i] + 256 * bytes[at + 3 * i + 1],
            bytes[at + 3 * i + 2] / 255,
        ]);
        at += 3 * row.length;
        rows.push(row);
    }
    return rows;
}

// --- the map -------------------------------------------------------------------------------------

let [width, height] = [560, 440];
const EDGE = 44;
const SHAPES = [
    'M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z',
    'M-5 -5H5V5H-5Z',
    'M0 -6.5L6.5 0L0 6.5L-6.5 0Z',
    'M0 -6L6 5H-6Z',
    'M0 6L-6 -5H6Z',
    'M-6 -2H-2V-6H2V-2H6V2H2V6H-2V2H-6Z',
];
const roles = [...new Set(heads.map(({ role }) => role))].sort((a, b) =>
    Number(b === '') - Number(a === ''));

function placeOf(one) {
    if (state.view === 'grid') {
        const [across, down] = cellSize();
        return [EDGE + (one.head + 0.5) * across, 8 + (one.layer + 0.5) * down];
    }
    const [x, y] = [shareOf(one, state.x), shareOf(one, state.y)];
    if (x === null || y === null) return null;
    return [EDGE + x * (width - 2 * EDGE), height - EDGE - y * (height - 2 * EDGE)];
}

function cellSize() {
    return [(width - EDGE - 8) / atlas.across, (height - EDGE - 8) / atlas.layers];
}

function aboutHead(one) {
    const parts = [...new Set([state.x, state.y])].map(
        (by) => `${scores[by]} ${numberText(valueOf(one, by))}`);
    return [nameOf(one), one.role, ...parts].filter(Boolean).join(' · ');
}

function drawPoint(one) {
    const place = placeOf(one);
    if (!place) return null;
    const isGrid = state.view === 'grid';
    const [across, down] = cellSize();
    const point = shape('path', {
        class: isFound(one) ? 'one' : 'one faint',
        transform: `translate(${place.join(' ')})`,
        d: isGrid ? `M${-across / 2} ${-down / 2}h${across}v${down}h${-across}Z`
            : SHAPES[roles.indexOf(one.role) % SHAPES.length],
        ...{ role: 'button', 'aria-label': aboutHead(one), 'aria-pressed': one === state.head },
        ...{ tabindex: -1, 'data-head': keyOf(one) },
    });
    point.style.fill = colourOf(shareOf(one, isGrid ? state.x : state.colour));
    point.append(shape('title', {}, aboutHead(one)));
    point.addEventListener('click', () => openHead(one));
    point.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        openHead(one);
    });
    return point;
}

function drawAxes(svg) {
    const line = (x1, y1, x2, y2) =>
        svg.append(shape('line', { class: 'axis', x1, y1, x2, y2 }));
    const write = (x, y, text, anchor, more = {}) =>
        svg.append(shape('text', { x, y, 'text-anchor': anchor, ...more }, text));
    if (state.view === 'grid') {
        const [across, down] = cellSize();
        for (let head = 0; head < atlas.across; head++)
            write(EDGE + (head + 0.5) * across, height - 12, String(head), 'middle');
        for (let layer = 0; layer < atlas.layers; layer++)
            write(EDGE - 6, 12 + (layer + 0.5) * down, String(layer), 'end');
        return;
    }
    const [right, bottom] = [width - EDGE, height - EDGE];
    line(EDGE, bottom, right, bottom);
    line(EDGE, EDGE, EDGE, bottom);
    rangeOf(state.x).forEach((value, at) =>
        write(at ? right : EDGE, bottom + 14, numberText(value), 'middle'));
    rangeOf(state.y).forEach((value, at) =>
        write(EDGE - 8, (at ? EDGE : bottom) + 4, numberText(value), 'end'));
    write(width / 2, height - 6, scores[state.x], 'middle');
    write(12, height / 2, scores[state.y], 'middle', { transform: `rotate(-90 12 ${height / 2})` });
}

function drawMap() {
    const held = document.activeElement?.dataset?.head;
    width = clamp(byId('map').clientWidth, 280, 640); // texts keep their size
    height = Math.min(0.8 * width, 440);
    byId('y').parentElement.hidden = byId('colour').parentElement.hidden = state.view === 'grid';
    const svg = shape('svg', { viewBox: `0 0 ${width} ${height}` });
    drawAxes(svg);
    const isOpen = (one) => Number(one === state.head); // it is drawn above others
    const sorted = [...heads].sort((a, b) => isOpen(a) - isOpen(b));
    const points = sorted.map(drawPoint).filter(Boolean);
    svg.append(...points);
    byId('map').replaceChildren(svg);
    drawLegend();
    const reached = points.find((one) => one.dataset.head === held)
        || points.find((one) => one.getAttribute('aria-pressed') === 'true') || points[0];
    if (reached) reached.tabIndex = 0;
    if (held && reached) reached.focus();
    svg.addEventListener('keydown', moveFocus);
    svg.addEventListener('pointerdown', (event) => beginBox(svg, event));
}

// The shape of each role, of the scatter.
function drawLegend() {
    byId('legend').replaceChildren(...(state.view === 'grid' ? [] : roles).map((role, at) => {
        const svg = shape('svg', { viewBox: '-8 -8 16 16', 'aria-hidden': 'true' });
        svg.append(shape('path', { d: SHAPES[at % SHAPES.length] }));
        return element('span', [svg, role || say('no role')], 'shape');
    }));
}

// Arrow keys move to the head of the next index or layer.
function moveFocus(event) {
    const from = headOf.get(event.target.dataset.head);
    const step = from && arrowOf(event);
    if (!step) return;
    const wanted = `${from.layer + step[0]}.${from.head + step[1]}`;
    const to = event.currentTarget.querySelector(`[data-head="${wanted}"]`);
    if (!to) return;
    event.target.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
}

// Drag a box: its heads become a list, sorted by x.
function beginBox(svg, event) {
    const toMap = ({ clientX, clientY }) =>
        new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    const [from, box] = [toMap(event), shape('rect', { class: 'box' })];
    let area = [];
    const move = (moved) => {
        const to = toMap(moved);
        area = [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x),
            Math.abs(to.y - from.y)];
        ['x', 'y', 'width', 'height'].forEach((name, at) => box.setAttribute(name, area[at]));
        if (!box.isConnected && area[2] + area[3] > 4) svg.append(box);
    };
    const end = () => {
        window.removeEventListener('pointermove', move);
        const [x, y, across, down] = area;
        const isInside = ([left, top]) =>
            left >= x && left <= x + across && top >= y && top <= y + down;
        if (box.isConnected)
            listHeads(heads.filter((one) => placeOf(one) && isInside(placeOf(one))));
        box.remove();
    };
    window.addEventListener('pointermove', move);
    window.addEventListener('pointerup', end, { once: true });
}

function listHeads(found) {
    const sorted = [...found].sort(
        (a, b) => (valueOf(b, state.x) ?? -1) - (valueOf(a, state.x) ?? -1));
    byId('chosen').replaceChildren(...sorted.map((one) => {
        const words = `${nameOf(one)} ${numberText(valueOf(one, state.x))}`;
        return element('li', buttonFor(() => openHead(one), words, '', { translate: 'no' }));
    }));
}

// --- find ----------------------------------------------------------------------------------------

const plain = (token) => token.trim().toLowerCase();

function isFound(one) {
    const wanted = plain(byId('find').value.replace('␣', ' '));
    if (!wanted) return true;
    if (/^\d+(\.\d*)?$/.test(wanted)) return keyOf(one).startsWith(wanted);
    const among = (tokens) => tokens.some((token) => plain(token) === wanted);
    return one.pairs.some((pair) => among([pair.query_token, pair.key_token]))
        || one.promotes.some(({ key, raises, lowers }) => among([key, ...raises, ...lowers]))
        || one.examples.some(([, text]) => among(atlas.texts[text].tokens));
}

// --- a head --------------------------------------------------------------------------------------

// A section with a title.
function part(title, ...content) {
    return element('section', [element('h3', title), ...content]);
}

// Values as bars from an end of a scale to the other.
function bars(title, values, names, ends) {
    const most = Math.max(...values, 1e-9);
    const list = values.map((value, at) => {
        const bar = element('i', '', '', { title: `${names(at)}: ${numberText(value)}` });
        bar.style.height = `${(100 * value) / most}%`;
        return bar;
    });
    const marks = { role: 'img', 'aria-label': values.map(numberText).join(', ') };
    return part(title, element('div', list, 'bars', marks),
        element('div', ends.map((word) => element('span', word)), 'scale'));
}

// A table with numbers, tokens and lists of tokens.
function table(title, columns, rows) {
    const words = (value) => [value].flat().map((token) => element('span', token));
    const cell = (value) => (typeof value === 'number' ? element('td', String(value), 'number')
        : element('td', words(value), '', { translate: 'no' }));
    const head = element('tr', columns.map((name) => headerCell(say(name), 'col')));
    const body = rows.map((row) => element('tr', row.map(cell)));
    return part(title, tableRegion(title,
        element('table', [element('thead', head), element('tbody', body)])));
}

function intervalName(interval) {
    if (interval === atlas.intervals) return say('highest');
    if (interval === 1) return say('lowest');
    const share = (number) => Math.round((100 * number) / atlas.intervals);
    return `${share(interval - 1)}–${share(interval)} %`;
}

// The words of an example. Pointing at one lights its keys; else each has its largest weight.
function drawWords(rows, tokens) {
    const spans = tokens.map((token) => element('span', token, '', { tabindex: -1 }));
    const largest = rows.map((row) =>
        Math.max(0, ...row.filter(([key]) => key).map(([, weight]) => weight)));
    const light = (query) =>
        spans.forEach((span, at) => {
            const weight = query === null ? largest[at]
                : (rows[query].find(([key]) => key === at)?.[1] ?? 0);
            span.style.setProperty('--weight', weight);
            span.classList.toggle('query', at === query);
            span.title = query === null ? '' : weight.toFixed(2);
        });
    spans.forEach((span, query) => onPoint(span, (isOn) => light(isOn ? query : null)));
    const line = element('p', spans, 'words', { translate: 'no' });
    if (spans[0]) spans[0].tabIndex = 0;
    line.addEventListener('keydown', (event) => {
        const step = arrowOf(event);
        const to = step && spans.indexOf(event.target) + step[0] + step[1];
        if (step) spans[clamp(to, 0, spans.length - 1)].focus();
    });
    light(null);
    return line;
}

function drawExample(one, index) {
    const [interval, at, top] = one.examples[index];
    const { ids, number, text, tokens } = atlas.texts[at];
    const rows = one.entries ? entriesOf(one.entries[index]) : tokens.map(() => []);
    const words = ['attn-cli', 'run', '-m', atlas.model, ...(ids ? ['--ids', ids] : ['-s', text]),
        '--layer', `${one.layer}`, '--head', `${one.head}`];
    return element('article', [
        element('p', say('Text # · largest weight #', number, top.toFixed(3)), 'quiet'),
        drawWords(rows, tokens), commandLine(words.map(shellWord).join(' ')),
    ], 'example', { 'data-text': number, 'data-interval': interval });
}

function examplesOf(one) {
    const intervals = [...new Set(one.examples.map(([interval]) => interval))];
    if (!intervals.includes(state.interval)) state.interval = intervals[0];
    const marks = { role: 'group', 'aria-label': say('Intervals') };
    const box = element('div', '', 'line start', marks);
    const entries = intervals.map((interval) => [interval, intervalName(interval), {}]);
    drawSegments(box, entries, state.interval, (interval) => {
        state.interval = interval;
        drawHead();
    });
    const missing = say('# is missing: keep it with this page', one.source);
    const shown = one.examples.flatMap(([interval], index) =>
        (interval === state.interval ? [drawExample(one, index)] : []));
    loadEntries(one);
    return part(say('Examples'), box, one.isMissing && element('p', missing, 'quiet'), ...shown);
}

function drawHead() {
    const one = state.head;
    const list = scores.map((name, at) => {
        const other = one.others ? ` (${numberText(one.others[at])})` : '';
        return element('div', [element('dt', name, '', { translate: 'no' }),
            element('dd', numberText(one.values[at]) + other)]);
    });
    const edge = (at) => (at ? 2 ** (at - 1) : 0);
    const far = 1 + one.distances.findLastIndex((mass) => mass > 0);
    const isOver = one.pairs.some((pair) => pair.at_most_too_high);
    const columns = ['Query', 'Key', 'Count', 'Mean weight', 'At most too high'];
    const pairs = one.pairs.map((pair) => [pair.query_token, pair.key_token, pair.count,
        Number(pair.mean.toFixed(3)), ...(isOver ? [pair.at_most_too_high] : [])]);
    const promoted = one.promotes.map(({ key, raises, lowers }) => [key, raises, lowers]);
    byId('head').replaceChildren(...[
        element('h2', [element('span', nameOf(one), '', { translate: 'no' }),
            element('span', one.role ? ` · ${one.role}` : '', 'quiet')]),
        element('dl', list, 'scores'),
        bars(say('Largest weights of # texts', atlas.count), one.bins,
            (at) => `${at / 50}–${(at + 1) / 50}`, ['0', '1']),
        examplesOf(one),
        pairs.length && table(say('Frequent pairs'), columns.slice(0, pairs[0].length), pairs),
        promoted.length && table(say('Keys, and what they promote'), ['Key', 'Raises', 'Lowers'],
            promoted),
        bars(say('Distance from query to key'), one.distances.slice(0, far),
            (at) => `${edge(at)}–${edge(at + 1) - 1}`, ['0', String(edge(far) - 1)]),
    ].filter(Boolean));
}

function openHead(one) {
    state.head = one;
    drawMap();
    drawHead();
    history.replaceState(null, '', `#${keyOf(one)}`);
}

// --- the page ------------------------------------------------------------------------------------

function drawViews() {
    const entries = [['scatter', say('Scatter'), {}], ['grid', say('Grid'), {}]];
    drawSegments(byId('view'), entries, state.view, (view) => {
        state.view = view;
        drawViews();
        drawMap();
    });
}

function settleTheme() {
    document.documentElement.dataset.theme = state.dark ? 'dark' : 'light';
    byId('theme').textContent = say(state.dark ? 'Light' : 'Dark');
}

function drawAll() {
    settleLanguage();
    settleTheme();
    const { model, count, tokens } = atlas;
    byId('title').textContent = say('Atlas of #: # texts, # tokens', model, count, tokens);
    drawViews();
    drawMap();
    drawHead();
}

function listen() {
    const entries = scores.map((name, at) => [at, name]);
    for (const name of ['x', 'y', 'colour']) {
        const layer = name === 'colour' ? [['layer', 'layer']] : [];
        fill(byId(name), [...layer, ...entries], state[name]);
        on(name, 'change', ({ target: { value } }) => {
            state[name] = value === 'layer' ? value : Number(value);
            drawMap();
        });
    }
    on('find', 'input', () => {
        drawMap();
        listHeads(byId('find').value ? heads.filter(isFound) : []);
    });
    on('find', 'keydown', ({ key }) =>
        key === 'Enter' && byId('chosen').querySelector('button')?.click());
    on('difference', 'change', ({ target }) => {
        state.differs = target.checked;
        drawMap();
    });
    window.addEventListener('resize', drawMap);
    on('language', 'click', () => {
        state.lang = isChinese() ? 'en' : 'zh';
        drawAll();
    });
    on('theme', 'click', () => {
        state.dark = !state.dark;
        settleTheme();
    });
    byId('against').hidden = !atlas.against;
    byId('other').textContent = atlas.against || '';
}

// Open the head of the address, else the one with the largest x.
function start() {
    const at = (name, other) =>
        Math.max(scores.findIndex((score) => score.startsWith(name)), other);
    [state.x, state.y] = [at('induction', 0), at('previous-token', 0)];
    const larger = (best, one) =>
        ((one.values[state.x] ?? -1) > (best.values[state.x] ?? -1) ? one : best);
    state.head = headOf.get(location.hash.slice(1)) || heads.reduce(larger);
    listen();
    drawAll();
}
