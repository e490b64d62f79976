// One state, and the page drawn from it.

const PAPER = 672; // width of A4 or Letter between margins, in CSS pixels
const BELOW = 68; // the height of the readout, below the matrix
const THEMES = ['auto', 'light', 'dark'];
const phone = window.matchMedia('(max-width: 719px)');
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

const state = {
    sentence: 0,
    screen: 'matrix',
    form: 'maps', // of the heads: maps or rows
    kind: '',
    layer: 0,
    head: 0,
    row: null, // the selected query; null: the one that the page opens on
    kept: null, // the selected cell; null: the largest weight of the query
    why: false,
    origins: false, // the fold of the panel is open
    scale: '', // linear, sqrt; '': by the median weight
    theme: 'auto',
    // en, zh; '': that of the lesson or the browser
    lang: languageOf(new URLSearchParams(location.search).get('lang')),
    text: '',
    off: new Set(), // "1.3"
    t: 1,
    pin: null, // { sentence } of this page, or { text, off, t } of a live one
    lesson: Boolean(sentences[0].lesson),
    slide: 0, // of a projected step of the lesson
    present: false, // sentence, matrix and prediction alone, for a projector
    printing: false,
    runs: 0, // of the engine
};

const live = { // see live.js
    engine: null,
    whole: true, // runs have the predictions after each step
    steps: false, // the model has such predictions; null: not known
    waiting: 0,
    prompt: {}, // a text, and the number of its tokens
    took: 0,
    drawn: 0,
    runs: 0,
};
let pinned = null; // the sentence that `pin` names
let hovered = null; // a cell or a token under the pointer
let views = {}; // of the matrix, or of a step of the lesson

function current() {
    const step = isChinese() && chineseSteps[state.sentence];
    return step || sentences[state.sentence];
}

function shownTensor() {
    return current().of(state.kind)[state.layer];
}

function pinnedTensor(tensor = shownTensor()) {
    return pinned?.tensors.find(
        (one) => one.tensor === tensor.tensor && one.layer === tensor.layer,
    );
}

// In large letters, for a projector: the workbench, or a step of the lesson.
const isLarge = () => state.present && !phone.matches && !state.printing;
const isPresenting = () => isLarge() && !state.lesson;
const isProjecting = () => isLarge() && state.lesson;

// Are there predictions: after each row, or of a masked model at its masks?
function predicts() {
    return shownTensor().row_labels === 'sentence' && Boolean(current().nextTokens);
}

// Are rows tokens, whose features a dictionary found?
function showsFeatures() {
    return shownTensor().row_labels === 'sentence' && Boolean(current().features);
}

const hasRight = () => predicts() || showsFeatures();

// Does the selected head attend differently since the pin?
const isChanged = () => hasBefore(shownTensor()) &&
    distanceSincePin(shownTensor(), state.head) > 1e-6;

// Does the matrix show the change since the pin?
function showsChange() {
    const isMatrix = shownScreen() === SCREENS[0];
    return isMatrix && state.changed && hasBefore(shownTensor());
}

// The tensors whose numbers the matrix shows; for a change both, the pinned one first.
function comparedTensors() {
    return showsChange() ? [pinnedTensor(), shownTensor()] : [shownTensor()];
}

// The tensor and the head that the matrix shows.
function shownMatrix() {
    const [one, other] = comparedTensors();
    return other ? [differenceOf(other, one, state.head), 0] : [one, state.head];
}

// The matrix on the screen: weights with their changes, or the changes of other numbers.
function drawnMatrix() {
    const tensor = shownTensor();
    return tensor.isAttention || tensor.isMixer ? [tensor, state.head] : shownMatrix();
}

// The name of a tensor's run if two are compared: " in A", " now".
function runWord(tensor) {
    const words = comparesTexts() ? [' in A', ' in B']
        : [state.pin === live.pin ? ' before' : ' pinned', ' now'];
    return pinned ? words[tensor.sentence === pinned ? 0 : 1] : '';
}

// --- the selected token and cell ---------------------------------------------------------------

function selectedRow() {
    const { rowCount, row_labels: rows } = shownTensor();
    const last = rowCount - 1;
    const { opens, opensAt = opens, tokens } = current();
    const first = rows === 'sentence' && tokens?.[0] === rowCount ? opensAt : last;
    return state.kept ? state.kept.row : clamp(state.row ?? first ?? last, 0, last);
}

// The hovered or kept cell, or the largest number of the hovered or selected row.
function currentCell() {
    const [tensor, head] = shownMatrix();
    if (hovered?.column !== undefined) return hovered;
    const row = clamp(hovered ? hovered.row : selectedRow(), 0, tensor.rowCount - 1);
    if (!hovered && state.kept) return state.kept;
    const first = row < firstShown(tensor) ? row : firstColumn(tensor);
    return { row, column: first + largestOf(tensor.row(head, row).subarray(first)) };
}

// Highlight a token or a cell everywhere; null: the selected one again.
function hover(cell) {
    if (hovered?.row === cell?.row && hovered?.column === cell?.column) return;
    hovered = cell && { row: cell.row, column: cell.column };
    highlight();
}

function highlight() {
    const cell = currentCell();
    shownScreen().highlight(cell);
    if (live.engine && tokenWithoutSteps(current()) >= 0) complete(current());
}

function keepCell(cell, byKey = false) {
    if (state.lesson) return; // a lesson keeps no cell
    hovered = null;
    state.kept = cell && { row: cell.row, column: cell.column };
    state.row = cell ? cell.row : state.row;
    if (state.why) drawWhy();
    highlight();
    if (byKey) announceReadout();
    rememberState();
}

function selectRow(row) {
    state.kept = null;
    state.row = row;
    hovered = null;
    if (state.why) closeWhy();
    highlight();
    rememberState();
}

// --- the middle column -------------------------------------------------------------------------

function marksOfRole(tensor, head) {
    const roles = [roleOf(shownTensor(), state.head)];
    if (pinnedTensor()) roles.push(roleOf(pinnedTensor(), Math.min(head, state.head)));
    if (!hasRoles(tensor) || !roles.some((role) => role?.score === 'induction')) return [];
    return targetsOf(tensor).induction.flatMap((keys, row) =>
        (keys || []).map((column) => ({ row, column })),
    );
}

function headTitle() {
    const { untrained } = current(); // shown nowhere else in a presentation
    return `${headWords()}${untrained && isPresenting() ? ' · not trained' : ''}`;
}

function headWords() {
    const tensor = shownTensor();
    const name = tensor.shownHead(state.head) || tensor.tensor;
    if ((tensor.isAttention || tensor.isMixer) && state.off.has(tensor.switchName(state.head)))
        return `${name} off${isPresenting() ? '' : ': only its output is removed'}`;
    if (showsChange() && state.pin === live.pin) return `${name} before → now`;
    if (showsChange()) return `${name} compared with ${comparesTexts() ? 'A' : 'the pin'}`;
    if (tensor.isMixer) return mixerTitle(tensor, name);
    if (!tensor.isAttention) return name === tensor.tensor ? name : `${name} ${tensor.tensor}`;
    if (isCross(tensor)) return `${name} cross-attention`;
    const role = roleOf(tensor, state.head);
    const row = Math.min(currentCell().row, tensor.rowCount - 1); // may differ from the mean
    if (role && !fitsRole(tensor, state.head, row, role))
        return `${name} mostly ${role.name}, not for ${quoted(tensor.label('row', row))}`;
    const kind = role ? role.name : 'mixed';
    return `${name} ${phone.matches ? say(kind) : `${kind} head`}`;
}

function drawMiddle() {
    const stage = new DocumentFragment(); // text on a canvas in the page would recompute styles
    const [tensor, head] = drawnMatrix();
    const fills = isPresenting();
    const { innerWidth, innerHeight } = window;
    const beside = hasRight() ? 32 + Math.max(320, 0.3 * innerWidth) : 0; // as in page.css
    const wide = fills ? innerWidth - 48 - beside : byId('middle').clientWidth;
    const room = state.printing ? PAPER : wide;
    const compact = phone.matches && !state.printing;
    const above = byId('stage').getBoundingClientRect().top + window.scrollY;
    const role = roleOf(tensor, head);
    byId('head-score').textContent = role ? `mean ${role.value.toFixed(2)}` : '';
    const options = {
        ...{ compact, marks: marksOfRole(tensor, head), high: innerHeight - above - BELOW },
        ...{ point: hover, keep: keepCell, explains: true, before: changesOfMatrix(tensor, head) },
        ...(state.printing && { most: CELL_USUAL }),
        ...(fills && { high: 0.795 * innerHeight, grows: true }),
    };
    views = { matrix: new MatrixView(stage, tensor, head, room, options), stage };
    for (const id of ['head-before', 'head-after'])
        byId(id).hidden = headsOf(current(), state.kind).length < 2;
    byId('map-words').hidden = !tensor.isMixer && !fills;
    drawKinds();
    drawNumbers();
}

// Tensors in the order of the pass.
function drawKinds() {
    const order = (current().sites || []).filter((name) => typeof name === 'string');
    const kinds = [...current().kinds].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    const wordsOf = (kind) => new Set(current().of(kind).map((one) => say(one.tensor)));
    const arrow = (at) => (at && kinds.length > 2 ? '→ ' : '');
    fill(byId('tensor'), kinds.map((kind, at) => [kind, arrow(at) + [...wordsOf(kind)].join(', ')]),
        state.kind);
    byId('tensor').closest('label').hidden = kinds.length < 2;
}

function drawNumbers() {
    const details = byId('numbers');
    details.querySelector('.table').replaceChildren();
    if (details.open || state.printing)
        drawTable(details.querySelector('.table'), ...shownMatrix());
}

// "0.76  old → door  query 14, key 7 · scaled score 14.42"
function drawReadout(cell) {
    const [tensor, head] = shownMatrix();
    const value = tensor.at(head, cell.row, cell.column);
    const hidden = Number.isNaN(value);
    const rounds = tensor.isAttention || tensor.isMixer;
    const isNearly = value < 0.99995 && value.toFixed(2) === '1.00'; // not 1.00
    const digits = rounds ? minus(value.toFixed(isNearly ? 4 : 2)) : brief(value);
    const places = value && Math.abs(value) < 0.005 ? 4 : 2; // not −0.00
    const text = showsChange() ? signedText(value, places) : digits;
    const labels = [tensor.label('row', cell.row), tensor.label('column', cell.column)];
    const names = labels.map(isolated);
    byId('value').textContent = hidden ? (tensor.tensor === 'masked' ? '−∞' : '0') : text;
    const does = isCross(tensor) ? '# attends to #' : tensor.isMixer && '# reads what # wrote';
    byId('pair').textContent = does ? say(does, ...names) : names.join(' → ');
    byId('place').textContent = placeText(tensor, cell, hidden);
    byId('value').title = hidden ? '' : tensor.text(value);
    byId('why-button').hidden = !explains();
}

function placeText(tensor, cell, hidden) {
    const usual = `${tensor.rows} ${cell.row}, ${tensor.columns} ${cell.column}`;
    const place = tensor.isMixer ? placeOfMemory(cell) : usual;
    if (hidden && tensor.isMixer) return `${place} · later tokens are not in the state yet`;
    if (hidden) return `${place} · masked: score −∞, weight 0`;
    if (showsChange()) {
        const { row, column } = cell;
        const numbers = [numberBefore(shownTensor(), state.head, row, column),
            shownTensor().at(state.head, row, column)];
        const wordOf = (number) => (Number.isNaN(number) ? say('masked') : brief(number));
        const runs = comparedTensors().map((one, at) =>
            (numbers[at] === undefined ? say('other words') : wordOf(numbers[at])) + runWord(one));
        return `${place} · ${runs.join(', ')}`;
    }
    if (tensor.isMixer) return `${place}${memoryText(tensor, state.head, cell)}`;
    const why = explains() ? new Why(tensor, state.head, cell) : null;
    const score = why?.of ? why.masked : NaN;
    const scaled = Number.isFinite(score) && `scaled score ${brief(score)}`;
    return [place, scaled, sumText(tensor, state.head, cell)].filter(Boolean).join(' · ');
}

// What the weights of a query add up to.
function sumText(tensor, head, { row }) {
    if (!tensor.isAttention || tensor.isDifference) return '';
    const sum = tensor.row(head, row).reduce((all, value) => all + (value || 0), 0);
    return `row sum ${sum.toFixed(2)}`;
}

function numbersNote(tensor) {
    const isShort = views.matrix?.areNumbered && (tensor.isAttention || tensor.isMixer);
    return isShort ? `no number: below ${NUMBER_LEAST}` : '';
}

function announceReadout() {
    const [pair, value, place] = ['pair', 'value', 'place'].map((id) => byId(id).textContent);
    announce(`${pair.replace(' → ', ' to ')}: ${place.includes('masked') ? 'masked' : value}`);
}

let announcing = 0;
// `said`: a text, or an element whose text is read when the page has settled.
function announce(said) {
    clearTimeout(announcing);
    announcing = setTimeout(() => (byId('announce').textContent = said.textContent ?? said), 500);
}

// --- all parts ---------------------------------------------------------------------------------

// The head shown first, with its query: the first finding has it; else the head that the prediction
// needs most, if that is known, or the clearest one of the first role.
function headToOpen() {
    const [first] = current().findings || [];
    const found = first && headOfFinding(first);
    if (found) return { ...found, row: first.query };
    let best = largestEffect();
    for (const one of best ? [] : headsOf(current(), state.kind)) {
        const role = roleOf(one.tensor, one.head);
        const rank = role ? Object.keys(CLAUSES).indexOf(role.score) : Infinity;
        const better = rank < best?.rank || (rank === best?.rank && role.value > best.value);
        if (role && (!best || better)) best = { ...one, rank, value: role.value };
    }
    return best || headsOf(current(), state.kind)[0];
}

function openHead() {
    settle();
    const best = headToOpen();
    if (best.row !== undefined) current().opensAt = best.row;
    Object.assign(state, { kind: best.tensor.kind, layer: best.layer, head: best.head });
    current().openedHead = `${state.layer} ${state.head}`;
}

// Is the selected head the one that the text opens, which a sentence remembers?
function isOpenedHead() {
    const { layer, head } = state.lesson || current().openedHead ? usual : headToOpen();
    current().openedHead ??= `${layer} ${head}`;
    return current().openedHead === `${state.layer} ${state.head}`;
}

// Is the page as it opened: with its head, and without a selected word?
const isOpened = () => state.row === null && !state.kept && isOpenedHead();

// Limit the state to heads, rows and texts of the page.
function settle() {
    state.sentence = clamp(state.sentence, 0, sentences.length - 1);
    const { kinds } = current();
    const canShow = (kind) => current().of(kind).some((one) => one.isAttention || one.isMixer);
    const isWeights = shownScreen() !== SCREENS[0] && kinds.some(canShow);
    if (!kinds.includes(state.kind) || (isWeights && !canShow(state.kind)))
        state.kind =
            kinds.find((kind) => kind === 'cross_weights') ||
            kinds.find((kind) => current().of(kind).some((one) => one.isAttention)) ||
            kinds.find((kind) => current().of(kind)[0].isMixer) ||
            kinds[0];
    const tensors = current().of(state.kind);
    state.layer = clamp(state.layer, 0, tensors.length - 1);
    state.head = clamp(state.head, 0, shownTensor().shape[0] - 1);
    // a text is not compared with itself
    if (comparesTexts() && state.pin.sentence === state.sentence) state.pin = pinned = null;
    state.changed = Boolean(pinned) && isChanged();
    const { rowCount, columnCount } = comparedTensors()[0];
    if (state.kept?.row >= rowCount || state.kept?.column >= columnCount) state.kept = null;
    if (!explains() || shownScreen() !== SCREENS[0]) state.why = false;
    const dark = state.theme === 'dark' || (state.theme === 'auto' && prefersDark.matches);
    document.documentElement.dataset.theme = dark && !state.printing ? 'dark' : 'light';
    settleLanguage();
    document.body.classList.toggle('is-lesson', state.lesson);
    document.body.classList.toggle('is-present', isPresenting());
    document.body.classList.toggle('projects', isProjecting());
    byId('present').setAttribute('aria-pressed', isLarge());
    byId('right').hidden = byId('layers').hidden = !predicts();
    byId('workbench').classList.toggle('without-right', !hasRight());
}

// Keep the focus, also on elements that are drawn again.
function draw(remember = true) {
    const held = document.activeElement;
    const { id, className, dataset } = held;
    const part = dataset.head ? `[data-head="${dataset.head}"]` : `[class="${className}"]`;
    const place = id ? `#${id}` : `#${held.closest('[id]')?.id} ${part}`;
    if (live.stale) refreshLive();
    settle();
    hovered = null;
    predicted = '';
    keepMotion();
    byId('lesson').hidden = !state.lesson;
    byId('workbench').hidden = state.lesson;
    if (state.lesson) {
        byId('lesson').replaceChildren();
        const { sentence } = state;
        for (state.sentence of state.printing ? sentences.keys() : [sentence]) // Motion draws it
            views.lesson = new LessonView(byId('lesson'), current());
        state.sentence = sentence;
    } else {
        drawScreens();
        shownScreen().draw(); // first: reading its width after other changes forces a layout
        drawFooter();
    }
    drawTop();
    if (remember) rememberState();
    const isLost = held !== document.body && document.activeElement === document.body;
    const other = isLost && (document.querySelector(place) || views.matrix?.over);
    if (other) other.focus({ preventScroll: true });
}

function drawMatrix() {
    drawHeadline();
    drawCompare();
    drawWords();
    drawSwitches();
    drawEffect();
    drawMiddle();
    drawForms();
    drawHeads();
    drawRoles();
    drawWhy();
    highlightMatrix(currentCell());
    byId('stage').replaceChildren(views.stage);
}

// What follows the pointer is drawn once a frame.
let following = 0;
function drawRowSoon(row) {
    cancelAnimationFrame(following);
    following = requestAnimationFrame(() => {
        if (shownScreen() !== SCREENS[0] || state.lesson) return;
        drawArcs(row);
        if (showsStrips()) highlightHeadRows(row);
    });
}

function highlightMatrix(cell) {
    const [tensor, head] = shownMatrix();
    const isOn = isPresenting() && !state.off.has(tensor.switchName(head));
    const off = isOn ? listedSwitches(state.off) : '';
    setText('head-title', headTitle() + (off && ` · off: ${off}`));
    const presented = [sumText(tensor, head, cell), numbersNote(tensor)].filter(Boolean);
    setText('map-words', isPresenting() ? presented.join(' · ') : mixerWords(tensor));
    views.matrix.show(cell, state.kept, new Set([cell.column]));
    drawReadout(cell);
    if (holdsEffects() || (pinned && !hovered && isCross(shownTensor()))) drawEffect(cell);
    if (live.engine && byId('switches').dataset.arrows !== `${listedArrows()}`) drawSwitches();
    const row = Math.min(cell.row, shownTensor().rowCount - 1); // text A may have more rows
    drawPrediction(row);
    drawFeatures(row);
    highlightChips(cell);
    drawRowSoon(row);
}

addScreen({
    ...{ name: 'matrix', title: 'Matrix', key: 'm' },
    parts: [
        ...['head', 'notes', 'headline', 'finding', 'compare-row', 'pinned', 'words', 'arcs'],
        ...['says', 'what-if', 'effect', 'middle', 'beside', 'command'],
    ],
    draw: drawMatrix,
    highlight: highlightMatrix,
    trial: () => (fold && !isTried(fold) ? fold : null),
    tried: lightFold,
    focus: () => views.matrix.over.focus(),
    address: { form: [({ form }) => form, (text) => ({ form: text in FORMS ? text : 'maps' })] },
    keys: {
        c: toggleCompare,
        Enter: () => openWhy(currentCell()), Backspace: () => live.engine && undo() },
});

// Change the state and draw.
function set(changes) {
    if ('sentence' in changes || 'kind' in changes) changes = { kept: null, ...changes };
    if ('sentence' in changes) changes = { slide: 0, ...changes };
    const isOther = 'sentence' in changes && !('layer' in changes) && !pinned && isOpened();
    const opens = isOther || changes.isNamed === false; // by the address
    Object.assign(state, changes);
    state.sentence = clamp(state.sentence, 0, sentences.length - 1);
    if (opens && !state.lesson) openHead();
    draw();
}

// Entries of a list, which may be narrow: a long beginning that all texts share becomes shorter.
function titlesOfTexts() {
    const names = sentences.map((one) => one.name().slice(0, 160));
    const [first] = names;
    let same = 0;
    while (first[same] && names.every((name) => name[same] === first[same])) same++;
    const blank = [first.lastIndexOf(' ', 12), first.lastIndexOf(' ', same - 10)];
    const [head, tail] = blank[0] > 0 && blank[1] > blank[0] ? blank : [6, same - 5];
    const isLong = names.length > 1 && same > 24;
    return names.map((name, at) =>
        [at, isLong ? `${name.slice(0, head)}…${name.slice(tail)}` : name]);
}

function drawTop() {
    const { attention: all } = current();
    const attention = state.kind.startsWith('enc.') ? all?.encoder : all;
    const model = current().model.replace(/^.*\/(?=.)/, '');
    const count = (number, name) => say(`# ${name}${number === 1 ? '' : 's'}`, number);
    const sizes = attention && [count(attention.layers, 'layer'), count(attention.heads, 'head')];
    const size = sizes?.join(' × ');
    byId('title').textContent = say(look.title || model);
    if (look.title) document.title = say(look.title);
    const parts = phone.matches && size ? [size] : [size, 'attn-cli'];
    byId('origin').textContent = parts.filter(Boolean).join(' · ');
    fill(byId('sentence'), titlesOfTexts(), state.sentence);
    byId('sentence').hidden = sentences.length < 2;
    byId('edit').hidden = sentences.length < 2 && !byId('engine');
    byId('plain').hidden = sentences.length > 1 || Boolean(byId('engine'));
    byId('plain').textContent = current().texts;
    const line = commandOfLive();
    const ways = line ? [say(TO_EDIT), commandLine(line)] : [];
    byId('fixed').replaceChildren(say('The text of this page is fixed. '), ...ways);
}

// --- the footer --------------------------------------------------------------------------------

function drawFooter() {
    const [tensor, head] = drawnMatrix();
    const tones = tonesOf(tensor, head);
    const tone = tones(firstShown(tensor));
    const rows = look.range === 'row' && !tensor.isDifference && !tensor.isAttention;
    const round = (value) => (phone.matches ? Number(value.toPrecision(2)) : value);
    const number = (value) => `${tone.signed && value > 0 ? '+' : ''}${brief(round(value))}`;
    const ends = rows ? ['lowest', 'highest'] : [number(tone.low), number(tone.high)];
    const name = tensor.isDifference ? `change of ${wordOf(tensor)}` : wordOf(tensor);
    const levels = Uint8Array.from({ length: LEVELS }, (_, at) => at + 1);
    const colours = { rows: 1, columns: LEVELS, levels, ramp: tone.ramp };
    const other = tone.scale === 'linear' ? 'sqrt' : 'linear';
    const title = `Show small numbers ${other === 'sqrt' ? 'more strongly' : 'in proportion'} (s)`;
    const key = (is, className, words) =>
        is && element('span', [element('i', '', className), words], 'key');
    const { matrix } = views;
    const changes = showsChange() && matrix?.before;
    const than = comparesTexts() ? 'in A' : 'before';
    const note = changes || tone.scale !== 'linear' ? '' : numbersNote(tensor);
    byId('legend').replaceChildren(...[
        element('span', name), element('span', ends[0]),
        ...[canvasOfCells(colours, element('canvas', '', 'ramp')), element('span', ends[1])],
        tone.scale !== 'linear' && element('b', scaleWords(tone.scale)),
        buttonFor(() => set({ scale: other }), other === 'sqrt' ? '√ scale' : 'linear', 'link',
            { title }),
        key(matrix?.marks.length, tensor.isDifference ? 'frame change' : 'frame',
            'perfect induction'),
        key(matrix?.cells.levels.includes(0), 'hatch', tensor.isMixer ? 'later tokens' : 'masked'),
        key(changes, 'less', 'less'), key(changes, 'more', `more than ${than}`),
        key(changes && matrix.opens, 'hatch', `corner: masked ${than}`),
        note && element('span', note, 'quiet'),
        ...notesOf(tensor).map((one) => element('span', one, 'note')),
    ].filter(Boolean));
}

function wordOf(tensor) {
    if (tensor.isMixer) return `${tensor.tensor} of this head`;
    return tensor.tensor === 'weights' ? 'weight' : tensor.tensor;
}

function scaleWords(scale) {
    return { linear: 'linear scale', sqrt: 'square root scale', log: 'log scale' }[scale];
}

function notesOf(tensor) {
    const { rowStep = 1, columnStep = 1 } = views.matrix?.cells || {};
    return [
        tensor.coding !== 'exact' && 'numbers in this page are accurate to 1 %',
        look.hide_first && 'the first token is left out',
        rowStep * columnStep > 1 &&
            `a cell shows the largest of ${rowStep} × ${columnStep} numbers`,
    ].filter(Boolean);
}

// --- on paper ----------------------------------------------------------------------------------

// Draw canvases with dark ink before the browser prints, and restore them afterwards.
function drawForPaper(printing) {
    state.printing = printing;
    draw();
    if (!printing) return;
    for (const wide of document.querySelectorAll('main .sheet, main table, #grid')) {
        const width = Math.max(wide.scrollWidth, wide.offsetWidth);
        if (width > PAPER) wide.style.zoom = PAPER / width;
    }
}
