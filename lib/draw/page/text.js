// The text, lit by the weights of its selected word; below it that word's row of every head or,
// for all layers together, the way of the information from layer to layer.

const NUMBER_BELOW = 0.05; // words of smaller weights have no number
const ARC_LEAST = 0.02;
const ARC_WORDS = 40; // more on a line have no arcs
const WORDS_LARGE = 80; // longer texts have smaller words
const DIFFERS = 0.1;
const STRIPS_WORDED = 7; // heads of a layer: strips of more have no words
// What lights the words: its name, whether it can light words of some layers, the numbers of the
// words at a query, the words of its title, and the options of `run` that print it. A share of 0 in
// the rollout is masked in every layer.
const LIGHTS = {
    head: { name: 'This head', isPossible: () => true,
        values: (tensor, row, head) => tensor.row(head, row), title: () => headTitle() },
    layer: { name: 'Mean of the layer',
        isPossible: (layers, tensor) => layers.length && tensor.shape[0] > 1,
        values: (tensor, row) => meanRow([tensor], row), title: ({ layer }) => `layer ${layer}`,
        options: ({ layer }) => `--layer ${layer} --mean heads` },
    all: { name: 'All heads', isPossible: (layers) => layers.length > 1,
        values: (tensor, row) => meanRow(attentionOf(tensor), row), title: () => 'all heads',
        options: () => '--layer all --mean heads,layers' },
    flow: { name: 'All layers',
        isPossible: (layers, tensor) => layers.length > 1 && hasRollout(tensor),
        values: (tensor, row) => rolloutRow(tensor, row).map((share) => share || NaN),
        title: () => '',
        options: (tensor) => `--show rollout --layer ${attentionOf(tensor).at(-1)?.layer}` },
};

// --- what lights the words ---------------------------------------------------------------------

const attentionOf = ({ sentence, kind }) => sentence.of(kind).filter((one) => one.isAttention);

// The mean over heads; NaN: masked in all of them.
function meanRow(tensors, row) {
    const sum = new Float64Array(tensors[0].columnCount).fill(NaN);
    const count = tensors.reduce((all, one) => all + one.shape[0], 0);
    for (const tensor of tensors)
        for (let head = 0; head < tensor.shape[0]; head++)
            tensor.row(head, row).forEach((value, key) => {
                if (!Number.isNaN(value)) sum[key] = (sum[key] || 0) + value / count;
            });
    return sum;
}

function lightsOf(tensor) {
    const layers = tensor.isAttention ? attentionOf(tensor) : [];
    return Object.keys(LIGHTS).filter((light) => LIGHTS[light].isPossible(layers, tensor));
}

const lightNow = () => (lightsOf(shownTensor()).includes(state.light) ? state.light : 'head');

// --- the words ---------------------------------------------------------------------------------

// The head of the state after the one that it is compared with, if any: another text's, or by the
// pin another one of this text.
function comparedHeads() {
    const tensor = shownTensor();
    const isMean = lightNow() === 'layer';
    const named = (one, at) =>
        (isMean ? say('mean of layer #', one.layer) : one.shownHead(at));
    const mine = { tensor, head: state.head, name: named(tensor, state.head) };
    const [layer, head] = state.pin?.head || [];
    const found = state.pin?.head ? current().of(state.kind)[layer] : pinnedTensor(tensor);
    const other = { tensor: found, head: head ?? state.head };
    const isSame = found === tensor && (isMean || other.head === state.head);
    const isShown = layer === undefined || ['head', 'layer'].includes(lightNow());
    if (!found || isSame || !isShown || other.head >= found.shape[0]) return [mine];
    other.name = named(found, other.head);
    if (layer === undefined)
        [other.name, mine.name] = !comparesTexts() ? ['pinned', 'now']
            : byId('panes').classList.contains('columns') ? [pinned.name(), current().name()]
            : ['A', 'B'];
    return [other, mine];
}

// Lines of words: the keys of each head and, of a text with a source, then its queries.
function linesOfText(heads) {
    const mine = heads.at(-1);
    const hasSource = isCross(mine.tensor);
    const usual = hasSource ? 'Source' : '';
    const lines = heads.map((one) => {
        return { ...one, axis: 'column', lit: true, name: heads.length > 1 ? one.name : usual };
    });
    return hasSource ? [...lines, { ...mine, axis: 'row', lit: false, name: 'Text' }] : lines;
}

function wordsOf({ tensor, axis }) {
    const first = axis === 'row' ? firstShown(tensor) : firstColumn(tensor);
    const labels = tensor.labels(axis) || [];
    const names = labels.slice(first).map((label, at) => [first + at, label]);
    return names.slice(0, tensor[`${axis}Count`] - first);
}

// A word with room for a number below it; a button if it does something.
function wordElement(label, className = 'word', attributes = {}, act = null) {
    if (!act) return element('span', [shown(label), element('i')], className, attributes);
    const number = element('i', '', '', { 'aria-hidden': true });
    return buttonFor(act, [shown(label), number], className, attributes);
}

function makeLine({ name, words, chooses, second }) {
    const marks = words.some(([, label]) => label.startsWith('␣')); // of words' first tokens
    const parts = words.flatMap(([at, label]) => {
        const select = chooses ? () => selectRow(at) : null;
        const word = wordElement(label, 'word', { 'data-at': at }, select);
        if (chooses) onPoint(word, (isOn) => hover(isOn ? { row: at } : null), HOVERS);
        const begins = marks ? label.startsWith('␣') : !label.startsWith('##');
        return [at && at === second && element('span', '', 'second'), begins && ' ', word];
    });
    const svg = shape('svg', { class: 'arcs', 'aria-hidden': 'true' });
    const text = element('p', parts, '', { translate: 'no' });
    const className = words.length > WORDS_LARGE ? 'words long' : 'words';
    return element('div', [element('b', name), svg, text], className);
}

// `before`: the value that it is compared with; undefined: none.
function lightWord(word, value, { tensor, tone, isQuery, before, lit }) {
    const isHidden = Number.isNaN(value);
    fillWith(word, isHidden ? null : tone.colour(value));
    const differs = before !== undefined && Math.abs(changeOf(tensor, value, before)) >= DIFFERS;
    const marks = { later: lit && isHidden, query: isQuery, differs };
    for (const [name, is] of Object.entries(marks)) word.classList.toggle(name, is);
    const isSaid = Math.abs(value) >= NUMBER_BELOW || differs;
    word.lastChild.textContent = isSaid ? smallNumber(value || 0) : '';
    const numbers = [before, value].filter((one) => one !== undefined);
    const words = numbers.map((one) => (Number.isNaN(one) ? say('masked') : brief(one)));
    word.title = lit ? words.join(' → ') : '';
    if (word.type !== 'button') return;
    word.setAttribute('aria-pressed', isQuery);
    word.tabIndex = isQuery ? 0 : -1;
}

const smallNumber = (value) => minus(value.toFixed(2)).replace('0.', '.');

// Arcs from the query to its keys, if the words fit on one line: of A above them, of B below; and
// to the words of a source, which are above.
function drawArcs(line, row, values, isBelow, source) {
    const svg = line.querySelector('svg');
    svg.replaceChildren();
    const words = [...line.querySelectorAll('.word')];
    if (!line.classList.contains('one-line') || words.length > ARC_WORDS) return;
    const { offsetLeft: left } = line.querySelector('p');
    const middle = (word) => word.offsetLeft - left + word.offsetWidth / 2;
    const from = middle(words.find((word) => Number(word.dataset.at) === row));
    const most = Math.max(...words.map((word) => Math.abs(middle(word) - from)), 1);
    const high = svg.clientHeight;
    const at = (y) => (isBelow ? y : high - y);
    for (const word of source ? source.querySelectorAll('.word') : words) {
        const value = values[word.dataset.at];
        const to = middle(word);
        if (!(Math.abs(value) >= ARC_LEAST) || (from === to && !source)) continue;
        const across = Math.abs(from - to);
        const rise = Math.min((high - 24) * Math.sqrt(across / most), across);
        const [top, half] = [at(1.3 * (18 + rise)), high / 2];
        const d = source
            ? `M${from} ${high} C${from} ${half} ${to} ${half} ${to} 0`
            : `M${from} ${at(0)} C${from} ${top} ${to} ${top} ${to} ${at(0)}`;
        const size = Math.min(Math.abs(value), 1);
        const marks = { d, 'stroke-width': 0.75 + 7 * size, opacity: 0.35 + 0.65 * size };
        svg.append(shape('path', { ...marks, class: value < 0 ? 'below' : '' }));
    }
}

// --- the screen --------------------------------------------------------------------------------

function drawText() {
    const heads = comparedHeads();
    const lines = linesOfText(heads);
    const panes = byId('panes');
    const facts = lines.map((line, at) => {
        const chooses = at === lines.length - 1;
        const second = line.tensor.second(line.axis);
        return { name: line.name, words: wordsOf(line), chooses, second };
    });
    keepOrMake(panes, facts, makeLine);
    panes.classList.toggle('named', lines.length > 1);
    panes.classList.toggle('compares', heads.length > 1);
    panes.classList.toggle('flows', lightNow() === 'flow');
    panes.classList.remove('columns');
    for (const line of panes.children) line.classList.add('one-line'); // as it is measured
    const isLine = [...panes.children].map((line) => {
        const words = line.querySelectorAll('.word');
        return words[0]?.offsetTop === words[words.length - 1]?.offsetTop;
    });
    lines.forEach((line, at) => {
        const { classList } = panes.children[at];
        classList.toggle('one-line', isLine.every(Boolean));
        classList.toggle('under', line.lit && at > 0);
        classList.toggle('bare', line.lit && lines.length > heads.length);
    });
    panes.classList.toggle('columns', lines.length > 1 && !isLine.every(Boolean));
    linesOfText(comparedHeads()).forEach(({ name }, at) => {
        panes.children[at].firstChild.textContent = name;
    });
    drawLights();
    drawSecond();
    drawHeadRows();
    lightWords(currentCell().row);
    drawBelow(currentCell().row);
}

function drawLights() {
    const lights = lightsOf(shownTensor());
    byId('light').hidden = lights.length < 2;
    const entries = lights.map((light) => [light, LIGHTS[light].name, { id: `light-${light}` }]);
    drawSegments(byId('light'), entries, lightNow(), (light) => set({ light }));
}

// What the text can be compared with: other texts, and other heads of this one.
function drawSecond() {
    const all = headsOf(current(), state.kind);
    const heads = all.map(({ layer, head, name }) => [`h${layer}.${head}`, shownHead(name)])
        .filter(([value]) => value !== `h${state.layer}.${state.head}`);
    const entries = [...otherTexts(), ...heads];
    const pins = pinned && !comparesTexts() ? [['pin', say('pinned run')]] : [];
    byId('second-row').hidden = !entries.length;
    fill(byId('second'), [['', 'none'], ...pins, ...entries], pins.length ? 'pin' : pinText());
}

// A text of as many tokens, if there is one, else the next head.
function toggleCompare() {
    if (state.pin) return unpin();
    const counts = sentences.map(({ labels }) => labels.sentence.length);
    const alike = counts.findIndex(
        (count, at) => at !== state.sentence && count === counts[state.sentence],
    );
    if (alike >= 0) return compareWith(String(alike));
    const { layer, head } = headBeside(1);
    const isOther = layer !== state.layer || head !== state.head;
    return isOther && compareWith(`h${layer}.${head}`);
}

// --- the row of every head ---------------------------------------------------------------------

function drawHeadRows() {
    const layers = current().of(state.kind);
    const across = Math.max(...layers.map((tensor) => tensor.shape[0]));
    const isWorded = across <= STRIPS_WORDED;
    const box = byId('strips');
    box.classList.toggle('small', !isWorded);
    box.style.setProperty('--across', phone.matches && isWorded ? Math.min(across, 2) : across);
    const facts = headsOf(current(), state.kind).map((one) => {
        const { label, name, role, layer, head, off } = headFacts(one);
        return { label, name, role: off ? 'off' : role?.brief, layer, head, isWorded };
    });
    keepOrMake(box, layers.map((_, at) => facts.filter((one) => one.layer === at)), makeHeadRow);
    rove(box, '.strip', across);
}

function makeHeadRow(heads) {
    const [{ isWorded, label: first }] = heads;
    const strips = heads.map(({ label, name, role, layer, head }) => {
        const go = () => set({ layer, head, light: 'head', kept: null });
        const most = element('span', '', 'most', { translate: 'no' });
        const words = [element('b', label), element('span', role, 'quiet')];
        const parts = isWorded ? [...words, element('canvas'), most] : element('canvas');
        const strip = buttonFor(go, parts, 'strip', { 'data-head': name });
        onPoint(strip, (isOn) => isOn && (byId('strip-said').textContent = strip.title));
        return strip;
    });
    const layer = !isWorded && element('span', first.split('·')[0], 'quiet');
    return element('div', [layer, ...strips], 'row');
}

function lightStrip(strip, tensor, head, row) {
    const first = firstColumn(tensor);
    const values = tensor.row(head, row).subarray(first);
    const tone = tonesOf(tensor, head)(row);
    const levels = Uint8Array.from(values, (value) => tone.level(value));
    const cells = { rows: 1, columns: levels.length, levels, ramp: tone.ramp };
    canvasOfCells(cells, strip.querySelector('canvas'));
    const best = largestOf(values);
    const label = isolated(tensor.label('column', first + best));
    const most = `${label} ${smallNumber(values[best])}`;
    const worded = strip.querySelector('.most');
    if (worded) worded.textContent = most;
    const role = roleOf(tensor, head);
    const isOff = state.off.has(tensor.headName(head));
    if (worded && role && !isOff) strip.children[1].hidden = !fitsRole(tensor, head, row, role);
    strip.title = `${tensor.shownHead(head)} · ${most}`;
    if (!worded) strip.setAttribute('aria-label', strip.title);
}

function highlightHeadRows(row) {
    const strips = byId('strips').querySelectorAll('.strip');
    const light = lightNow();
    headsOf(current(), state.kind).forEach(({ tensor, layer, head }, at) => {
        lightStrip(strips[at], tensor, head, row);
        const isMine = layer === state.layer && (light !== 'head' || head === state.head);
        strips[at].setAttribute('aria-pressed', isMine || light === 'all');
        if (layer === state.layer && head === state.head)
            byId('strip-said').textContent = strips[at].title;
    });
}

// --- the screen --------------------------------------------------------------------------------

let drawingBelow = 0; // the frame in which what is below the words follows the pointer

function highlightText({ row }) {
    lightWords(row);
    cancelAnimationFrame(drawingBelow);
    drawingBelow = requestAnimationFrame(() => shownScreen().name === 'text' && drawBelow(row));
}

function drawBelow(row) {
    cancelAnimationFrame(drawingBelow); // its row may be of the text before
    const isFlow = lightNow() === 'flow';
    byId('strips').hidden = isFlow || headsOf(current(), state.kind).length < 2;
    byId('strip-said').hidden = isFlow || !byId('strips').classList.contains('small');
    byId('flow').toggleAttribute('hidden', !isFlow);
    if (isFlow) drawFlow(byId('flow'), shownTensor(), row);
    else highlightHeadRows(row);
}

function lightWords(row) {
    const heads = comparedHeads();
    const mine = heads.at(-1);
    const isFlow = lightNow() === 'flow';
    heads.forEach((one, at) => {
        const place = one.tensor.sentence === current() ? row : pinnedRow(row);
        one.isAlike = place >= 0;
        one.row = clamp(one.isAlike ? place : row, 0, one.tensor.rowCount - 1);
        one.values = LIGHTS[lightNow()].values(one.tensor, one.row, one.head);
        one.before = at && heads[0].isAlike ? heads[0].values : [];
    });
    linesOfText(heads).forEach((line, at) => {
        const box = byId('panes').children[at];
        const usual = new Tone(0, 1, scaleOf(line.tensor));
        const tone = lightNow() === 'head' ? tonesOf(line.tensor, line.head)(line.row) : usual;
        for (const word of box.querySelectorAll('.word')) {
            const key = Number(word.dataset.at);
            const isQuery = key === line.row && (line.axis === 'row' || !isCross(line.tensor));
            const value = line.lit ? (line.values[key] ?? NaN) : NaN; // a sink has no share
            const before = line.lit ? line.before[key] : undefined;
            lightWord(word, value, { tensor: line.tensor, tone, isQuery, before, lit: line.lit });
        }
        const source = line.lit ? null : byId('panes').children[at - 1];
        if (source || !isCross(line.tensor))
            drawArcs(box, line.row, isFlow ? [] : line.values, line.lit && at > 0, source);
    });
    drawTextTitle(mine, row);
    drawTextSaid(heads);
}

function drawTextTitle({ tensor }, row) {
    const word = quoted(tensor.label('row', row));
    const verb = tensor.isMixer ? 'What # reads' : 'Where # attends';
    const isFlow = lightNow() === 'flow';
    byId('reading-title').textContent =
        say(isFlow ? 'Where the information at # comes from' : verb, word);
    byId('reading-head').textContent = LIGHTS[lightNow()].title(tensor);
}

function drawTextSaid(heads) {
    const said = byId('reading-said');
    const isOne = heads.length < 2;
    said.replaceChildren();
    for (const one of heads) {
        if (!isOne) said.append(element('b', one.name), ': ');
        said.append(readingOf(one), isChinese() ? '' : ' ');
    }
    if (isOne || lightNow() === 'flow') return;
    const count = byId('panes').querySelectorAll('.differs').length;
    const words = count
        ? 'Orange: differs from # by 0.10 or more.'
        : 'No number differs from # by 0.10 or more.';
    said.append(element('span', say(words, say(heads[0].name)), count ? 'differs' : ''));
}

// "“it” attends most to “chicken”: 97 % of its attention."
function readingOf({ tensor, row, values }) {
    const first = firstColumn(tensor);
    const shownValues = [...values].slice(first);
    const best = first + largestOf(shownValues);
    const names = [tensor.label('row', row), tensor.label('column', best)].map(quoted);
    const share = `${(100 * values[best]).toFixed(0)} %`;
    const isSelf = !isCross(tensor) && best === row;
    const number = smallNumber(values[best]);
    if (tensor.isMixer) return say('# reads most of what # wrote: #.', ...names, number);
    if (lightNow() === 'flow') return say(FLOW_SAID, names[1], share, names[0]);
    const count = shownValues.filter((value) => !Number.isNaN(value)).length;
    if (count < 2) return say('# can only attend to #.', ...names);
    if (isSelf) return say('# attends most to itself: #.', names[0], share);
    return say('# attends most to #: # of its attention.', ...names, share);
}

function stepQuery(by) {
    const tensor = shownTensor();
    const isHeld = document.activeElement.matches('#panes .word');
    selectRow(clamp(selectedRow() + by, firstShown(tensor), tensor.rowCount - 1));
    if (isHeld) focusText();
}

function stepLight(by) {
    const lights = lightsOf(shownTensor());
    const at = lights.indexOf(lightNow()) + by;
    set({ light: lights[clamp(at, 0, lights.length - 1)] });
}

function focusText() {
    byId('panes').querySelector('button[aria-pressed="true"]')?.focus();
}

addScreen({
    ...{ name: 'text', title: 'Text', key: 't' },
    parts: ['reading', 'legend', 'command'],
    isAvailable: () => current().tensors.some((one) => one.isAttention || one.isMixer),
    draw: drawText,
    highlight: highlightText,
    focus: focusText,
    listen: () =>
        byId('second').addEventListener('change', () => compareWith(byId('second').value)),
    keys: {
        ArrowLeft: () => stepQuery(-1),
        ArrowRight: () => stepQuery(1),
        ArrowUp: () => stepLight(-1),
        ArrowDown: () => stepLight(1),
        c: toggleCompare,
    },
    commands: () => comparedHeads().map(({ tensor, head }) => commandOfLight(tensor, head)),
    state: { light: look.view === 'overlay' ? 'all' : 'head' },
    address: {
        light: [({ light }) => light, (text) => ({ light: text in LIGHTS ? text : 'head' })],
    },
});

function commandOfLight(tensor, head) {
    const words = LIGHTS[lightNow()].options?.(tensor);
    if (!words || (tensor.sentence.files && words.includes('--show')))
        return commandOfView(tensor, head);
    return commandOf(tensor.sentence, 'run', words.split(' '));
}
