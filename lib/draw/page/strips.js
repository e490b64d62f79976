// The second form of the heads: for each one a strip, the row of the selected word, with the word
// that it looks at most.

const STRIPS_WORDED = 7; // heads of a layer: strips of more have no words
const FORMS = { maps: 'maps', rows: 'this word' }; // of the heads, and their names

const smallNumber = (value) => minus(value.toFixed(2)).replace('0.', '.');

// Strips are of words: not of tensors whose columns are numbers.
const showsStrips = () => state.form === 'rows' && shownTensor().labels('column') !== null;

function drawForms() {
    const isPossible = shownTensor().labels('column') !== null &&
        headsOf(current(), state.kind).length > 1;
    byId('forms').hidden = !isPossible;
    const entries = Object.entries(FORMS)
        .map(([form, name]) => [form, name, { id: `form-${form}` }]);
    drawSegments(byId('forms'), entries, showsStrips() ? 'rows' : 'maps', (form) => set({ form }));
    byId('grid').hidden = showsStrips();
    byId('strips').hidden = !showsStrips();
    byId('strip-said').hidden = !showsStrips();
    if (showsStrips()) drawHeadRows();
}

function drawHeadRows() {
    const layers = current().of(state.kind);
    const across = Math.max(...layers.map((tensor) => tensor.shape[0]));
    const isWorded = across <= STRIPS_WORDED;
    const box = byId('strips');
    box.classList.toggle('small', !isWorded);
    box.style.setProperty('--across', isWorded ? Math.min(across, 2) : across);
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
        const go = () => set({ layer, head, kept: null });
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
    const isOff = state.off.has(tensor.switchName(head));
    if (worded && role && !isOff) strip.children[1].hidden = !fitsRole(tensor, head, row, role);
    strip.title = `${tensor.shownHead(head)} · ${most}`;
    if (!worded) strip.setAttribute('aria-label', strip.title);
}

function highlightHeadRows(row) {
    const strips = byId('strips').querySelectorAll('.strip');
    headsOf(current(), state.kind).forEach(({ tensor, layer, head }, at) => {
        lightStrip(strips[at], tensor, head, row);
        const isMine = layer === state.layer && head === state.head;
        strips[at].setAttribute('aria-pressed', isMine);
        if (isMine) byId('strip-said').textContent = strips[at].title;
    });
}
