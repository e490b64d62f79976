// What stands around the stage: what is said below it, and what can be chosen above.

// --- what is said below ----------------------------------------------------------------------

// What is told of first stands out; nothing: the line is empty.
function read(first = '', ...more) {
    byId('readout').replaceChildren(...(first ? [element('b', first), ...more] : []));
}

function quoted(label) {
    return `“${label}”`;
}

// Three digits, for lists; the exact number is in the matrix.
function brief(value) {
    return String(Number(value.toPrecision(3)));
}

function readCell(tensor, index, cell) {
    if (!cell) return read();
    const value = tensor.at(index, cell.row, cell.column);
    const place = (axis, name, at) =>
        tensor.labels(axis) ? `${name} ${at} ` + quoted(tensor.label(axis, at)) : `${name} ${at}`;
    return byId('readout').replaceChildren(
        element('b', Number.isNaN(value) ? 'hidden' : tensor.text(value), 'value'),
        ` ${place('row', tensor.rows, cell.row)} → ` +
            `${place('column', tensor.columns, cell.column)} · ${tensor.name(index)}`,
    );
}

function drawLegend() {
    const tensor = shownTensor();
    const several = state.view === 'lines' && shownHeads().length > 1;
    const legend = byId('legend');
    legend.replaceChildren();
    const without = ['space', 'table', 'compare'].includes(state.view);
    legend.hidden = several || without || Boolean(view().own);
    if (legend.hidden) return;
    const levels = Array.from({ length: 255 }, (_, i) => i + 1);
    const canvas = canvasOf({ columns: 255, rows: 1, levels }, rampOf(tensor));
    const ends = element('div');
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
    ends.append(...names.map((name) => element('span', name)));
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

function showViews() {
    const tabs = byId('views');
    tabs.replaceChildren(
        ...VIEWS.map((one) => {
            const tab = buttonFor(() => set({ view: one.id }), one.name, '', {
                ...{ role: 'tab', 'aria-selected': one.id === state.view, id: `view-${one.id}` },
            });
            tab.disabled = !current().kinds.some(one.fits);
            tab.title = tab.disabled
                ? one.wants || 'Nothing in this page can be shown so: see --show, and page --help'
                : one.key;
            return tab;
        }),
    );
}

function showFields() {
    const tensor = shownTensor();
    const tensors = current().of(state.kind);
    const kinds = current().kinds.filter(view().fits);
    const named = (names) => names.map((name) => [name, name]);
    fill(byId('tensor'), named(kinds), state.kind);
    byId('tensor').closest('label').hidden = Boolean(view().own);
    byId('layer-field').hidden = tensors.length < 2 || view().ofAll;
    const layers = tensors.map((one, at) => [at, String(one.layer)]);
    fill(byId('layer'), layers, state.layer);
    byId('layer-down').disabled = state.layer === 0;
    byId('layer-up').disabled = state.layer === tensors.length - 1;
    fill(byId('scale'), Object.entries(SCALES), state.scale);
    byId('first').checked = state.hideFirst;
    byId('first').disabled = tensor.rowCount < 2;
    byId('theme').textContent = state.theme[0].toUpperCase() + state.theme.slice(1);
    const titleOf = (one, at) => `${one.lesson ? '' : `${at}: `}${one.name().slice(0, 80)}`;
    const titles = sentences.map((one, at) => [at, titleOf(one, at)]);
    fill(byId('sentence'), titles, state.sentence);
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

function swatchOf(background) {
    const swatch = element('span', '', 'swatch');
    swatch.style.background = background;
    return swatch;
}

function allButton(chosen) {
    const heads = shownTensor().shape[0];
    const colours = [...Array(heads).keys()].map((head) => headColour(head, heads));
    const button = buttonFor(layAll, '', 'head chip', {
        ...{ role: 'checkbox', 'aria-checked': chosen, 'aria-label': 'all heads' },
        ...{ title: 'All heads over each other (a)', 'data-head': 'all' },
    });
    button.append(swatchOf(`linear-gradient(90deg, ${colours.join(', ')})`), 'all');
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
    const role = headRole(tensor, index);
    const choose = () => chooseHead(index, several);
    const button = buttonFor(choose, '', several ? 'head chip' : 'head', {
        ...{ role: several ? 'checkbox' : 'radio', 'aria-checked': chosen, 'data-head': index },
        'aria-label': [tensor.headName(index), role].filter(Boolean).join(', '),
    });
    if (several) {
        const colour = index === 'mean' ? variable('--accent') : headColour(index, tensor.shape[0]);
        button.append(swatchOf(colour));
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
