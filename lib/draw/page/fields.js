// What stands around the stage: what is said below it, and what can be chosen above.

// --- what is said below ----------------------------------------------------------------------

function read(parts) {
    const line = byId('readout');
    line.replaceChildren();
    if (parts.length) {
        const strong = document.createElement('b');
        strong.textContent = parts[0];
        line.append(strong, ...parts.slice(1));
    }
}

function quoted(label) {
    return `“${label}”`;
}

// Three digits, for lists; the exact number is in the matrix.
function brief(value) {
    return String(Number(value.toPrecision(3)));
}

function readCell(tensor, index, cell) {
    if (!cell) {
        read([]);
        return;
    }
    const value = tensor.matrix(index)[cell.row * tensor.columnCount + cell.column];
    const line = byId('readout');
    const strong = document.createElement('b');
    strong.className = 'value';
    strong.textContent = Number.isNaN(value) ? 'hidden' : tensor.text(value);
    const place = (axis, name, at) =>
        tensor.labels(axis) ? `${name} ${at} ` + quoted(tensor.label(axis, at)) : `${name} ${at}`;
    line.replaceChildren(
        strong,
        ` ${place('row', tensor.rows, cell.row)} → ` +
            `${place('column', tensor.columns, cell.column)} · ${tensor.name(index)}`,
    );
}

function drawLegend() {
    const tensor = shownTensor();
    const several = state.view === 'lines' && shownHeads().length > 1;
    const legend = byId('legend');
    legend.replaceChildren();
    const without = ['space', 'bars', 'table', 'compare'].includes(state.view);
    legend.hidden = several || without || Boolean(view().own);
    if (legend.hidden) return;
    const canvas = document.createElement('canvas');
    canvas.width = 255;
    canvas.height = 1;
    const image = new ImageData(255, 1);
    const ramp = rampOf(tensor);
    for (let i = 0; i < 255; i++) {
        image.data.set(ramp[i + 1], 4 * i);
        image.data[4 * i + 3] = 255;
    }
    canvas.getContext('2d').putImageData(image, 0, 0);
    const ends = document.createElement('div');
    const tone = toneOf(tensor, state.head);
    const lowest = tone.twoSided ? -tone.span : tone.low;
    const highest = tone.span + tone.low;
    // beyond bounds that were given there may be more, in the colours of the ends
    const found = state.range === 'bounds' ? extentOfKind(tensor) : tone.extent;
    const names =
        state.range === 'row'
            ? ['lowest', 'highest of the row']
            : [
                  (found.low < Math.fround(lowest) ? '≤ ' : '') + tensor.text(lowest),
                  (found.high > Math.fround(highest) ? '≥ ' : '') + tensor.text(highest),
              ];
    for (const name of names) {
        const end = document.createElement('span');
        end.textContent = name;
        ends.append(end);
    }
    legend.append(canvas, ends);
}

function drawNotes(parts) {
    const notes = [];
    if (shownTensor().coding !== 'exact')
        notes.push('numbers are rounded to three digits to keep this page small');
    if (state.hideFirst) notes.push('the first token is hidden');
    byId('notes').textContent = notes.concat(parts).join(' · ');
}

// --- choosing --------------------------------------------------------------------------------

function fill(select, entries, chosen) {
    select.replaceChildren(
        ...entries.map(
            ([value, name]) => new Option(name, value, false, String(value) === String(chosen)),
        ),
    );
}

function showViews() {
    const tabs = byId('views');
    tabs.replaceChildren(
        ...VIEWS.map((one) => {
            const tab = document.createElement('button');
            tab.setAttribute('role', 'tab');
            tab.setAttribute('aria-selected', String(one.id === state.view));
            tab.textContent = one.name;
            tab.id = `view-${one.id}`;
            tab.disabled = !current().kinds.some(one.fits);
            tab.title = tab.disabled
                ? one.wants || 'Nothing in this page can be shown so: see --show, and page --help'
                : one.key;
            tab.addEventListener('click', () => set({ view: one.id }));
            return tab;
        }),
    );
}

function showFields() {
    const tensor = shownTensor();
    const tensors = current().of(state.kind);
    const kinds = current().kinds.filter(view().fits);
    fill(
        byId('tensor'),
        kinds.map((kind) => [kind, kind]),
        state.kind,
    );
    byId('tensor').closest('label').hidden = Boolean(view().own);
    byId('layer-field').hidden = tensors.length < 2 || view().ofAll;
    fill(
        byId('layer'),
        tensors.map((one, at) => [at, String(one.layer)]),
        state.layer,
    );
    byId('layer-down').disabled = state.layer === 0;
    byId('layer-up').disabled = state.layer === tensors.length - 1;
    fill(byId('scale'), Object.entries(SCALES), state.scale);
    fill(byId('range'), Object.entries(RANGES), state.range);
    fill(
        byId('palette'),
        [['', 'automatic']].concat(Object.keys(look.palettes).map((name) => [name, name])),
        state.palette,
    );
    byId('first').checked = state.hideFirst;
    byId('first').disabled = tensor.rowCount < 2;
    byId('theme').textContent = state.theme[0].toUpperCase() + state.theme.slice(1);
    fill(
        byId('sentence'),
        sentences.map((one, at) => [
            at,
            `${one.lesson ? '' : `${at}: `}${one.name().slice(0, 80)}`,
        ]),
        state.sentence,
    );
}

// The heads that the stage shows.
function shownHeads() {
    const tensor = shownTensor();
    if (state.view !== 'lines') return [state.head];
    const heads = [...state.lineHeads].filter((head) => head < tensor.shape[0]);
    return heads.length ? heads.sort((a, b) => a - b) : [state.head];
}

function showHeads() {
    const tensor = shownTensor();
    const strip = byId('heads');
    strip.replaceChildren();
    if (!tensor.heads || tensor.shape[0] < 2 || view().ofAll) return;
    const several = state.view === 'lines';
    const shown = shownHeads();
    strip.setAttribute('role', several ? 'group' : 'radiogroup');
    for (const index of [...Array(tensor.shape[0]).keys(), 'mean'])
        strip.append(headButton(tensor, index, several, shown.includes(index)));
    if (several) strip.append(allButton(shown.length === tensor.shape[0]));
}

function allButton(chosen) {
    const button = document.createElement('button');
    button.className = 'head chip';
    button.setAttribute('role', 'checkbox');
    button.setAttribute('aria-checked', String(chosen));
    button.setAttribute('aria-label', 'all heads');
    button.title = 'All heads over each other (a)';
    button.dataset.head = 'all';
    const swatch = document.createElement('span');
    swatch.className = 'swatch';
    const heads = shownTensor().shape[0];
    const colours = [...Array(heads).keys()].map((head) => headColour(head, heads));
    swatch.style.background = `linear-gradient(90deg, ${colours.join(', ')})`;
    button.append(swatch, 'all');
    button.addEventListener('click', layAll);
    return button;
}

// All heads over each other as lines; when they are, one again.
function layAll() {
    const heads = [...Array(shownTensor().shape[0]).keys()];
    const there = state.view === 'lines' && shownHeads().length === heads.length;
    if (!VIEWS.find((one) => one.id === 'lines').fits(state.kind)) return;
    set({ view: 'lines', lineHeads: new Set(there ? [] : heads), head: 0 });
}

function headButton(tensor, index, several, chosen) {
    const button = document.createElement('button');
    button.className = several ? 'head chip' : 'head';
    button.setAttribute('role', several ? 'checkbox' : 'radio');
    button.setAttribute('aria-checked', String(chosen));
    const role = headRole(tensor, index);
    button.setAttribute('aria-label', [tensor.headName(index), role].filter(Boolean).join(', '));
    button.dataset.head = index;
    if (several) {
        const swatch = document.createElement('span');
        swatch.className = 'swatch';
        swatch.style.background =
            index === 'mean' ? variable('--accent') : headColour(index, tensor.shape[0]);
        button.append(swatch);
    } else {
        button.append(thumbnail(tensor, index, 52, false));
        button.addEventListener('mouseenter', () => preview(index));
        button.addEventListener('mouseleave', () => preview(null));
    }
    button.append(index === 'mean' ? 'mean' : String(tensor.heads[index]));
    if (role) button.append(element('span', role, 'role'));
    button.title = several
        ? 'Click: show or hide. Double click: this one alone, or all'
        : [role, scoreWords(tensor, index)].filter(Boolean).join(' · ');
    button.addEventListener('click', () => chooseHead(index, several));
    if (several) button.addEventListener('dblclick', () => onlyHead(index));
    return button;
}

function chooseHead(index, several) {
    if (!several || index === 'mean') {
        state.lineHeads.clear();
        set({ head: index });
        return;
    }
    const heads = new Set(shownHeads().filter((head) => head !== 'mean'));
    if (heads.has(index) && heads.size > 1) heads.delete(index);
    else heads.add(index);
    set({ lineHeads: heads, head: [...heads][0] });
}

function onlyHead(index) {
    const all = [...Array(shownTensor().shape[0]).keys()];
    const alone = state.soloed === index;
    state.soloed = alone ? null : index;
    set({ lineHeads: new Set(alone ? all : [index]), head: alone ? 0 : index });
}

// A head that is pointed at is shown at once, and goes again.
function preview(index) {
    const head = index === null ? state.head : index;
    if (head === state.previewed) return;
    state.previewed = head;
    drawStage(head);
}
