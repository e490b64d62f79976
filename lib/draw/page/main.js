// What is shown, and how it is changed: one state, and a page drawn from it.

const byId = (id) => document.getElementById(id);
const SCALES = { linear: 'linear', sqrt: 'square root', log: 'logarithmic' };
const RANGES = { all: 'of all heads', head: 'of each head', row: 'of each row' };
if (look.bounds) RANGES.bounds = `from ${look.bounds.low} to ${look.bounds.high}`;
const BESIDE_GAP = 40;
const BESIDE_LEAST = 360;
const BESIDE_PITCH = 10; // rows that are closer have no letters to read
const PAPER = 672; // points of a sheet of A4 or Letter between its margins
const THEMES = ['auto', 'light', 'dark'];

const state = {
    sentence: 0,
    view: 'matrix',
    wanted: '',
    kind: '',
    layer: 0,
    head: 0,
    lineHeads: new Set(),
    scale: look.scale,
    range: look.bounds ? 'bounds' : look.range,
    palette: look.palette || '',
    hideFirst: look.hide_first,
    theme: 'auto',
    smallLines: ['lines', 'overlay'].includes(look.view),
    way: 'row',
    axes: 'principal',
    kept: null,
    token: null,
    opened: false,
    turned: [0.7, 0.35],
    zoom: 1,
    sides: [
        { sentence: 0, layer: 0, head: 0 },
        { sentence: sentences.length > 1 ? 1 : 0, layer: 0, head: sentences.length > 1 ? 0 : 1 },
    ],
    temperature: 1,
    topK: 0,
    topP: 1,
    printing: false,
    recording: false,
};

const VIEWS = [
    { id: 'matrix', name: 'Matrix', fits: () => true },
    { id: 'lines', name: 'Lines', fits: (kind) => isAttention(current().of(kind)[0]) },
    { id: 'model', name: 'Model', ofAll: true, fits: () => true },
    { id: 'text', name: 'Text', fits: (kind) => isAttention(current().of(kind)[0]) },
    {
        id: 'space',
        name: 'Space',
        fits: (kind) => ['channel', 'dim'].includes(current().of(kind)[0].columns),
    },
    { id: 'bars', name: 'Bars', ofAll: true, fits: () => true },
    { id: 'table', name: 'Table', fits: () => true },
    { id: 'next', name: 'Next token', ofAll: true, fits: () => Boolean(current().next) },
    { id: 'compare', name: 'Compare', ofAll: true, fits: () => true },
];

function current() {
    return sentences[state.sentence];
}

function shownTensor() {
    return current().of(state.kind)[state.layer];
}

function view() {
    return VIEWS.find((one) => one.id === state.view);
}

// --- on paper --------------------------------------------------------------------------------

// How wide what is drawn may become, in points.
function roomOf(element) {
    return state.printing ? PAPER : element.clientWidth;
}

// Paper has no scroll bars: what is too wide for it becomes smaller.
function fitToPaper() {
    for (const wide of document.querySelectorAll('main .sheet, main table, main .grid')) {
        const width = Math.max(wide.scrollWidth, wide.offsetWidth);
        if (width > PAPER) wide.style.zoom = PAPER / width;
    }
}

// Canvases are drawn anew, in dark letters, before a browser takes them to paper; and again after.
function drawForPaper(printing) {
    state.printing = printing;
    draw();
    if (printing) fitToPaper();
}

// --- drawing ---------------------------------------------------------------------------------

// What the two sides of a matrix, or of lines, are.
function drawCaption(stage, tensor, head) {
    if (state.view !== 'matrix' && state.view !== 'lines') return;
    const sides = state.view === 'matrix' ? ['rows', 'columns'] : ['left', 'right'];
    const heads = state.view === 'lines' ? shownHeads() : [head];
    const all = `${tensor.tensor} · ${tensor.layerName()}`;
    const name = heads.length > 1 ? all : tensor.name(heads[0]);
    const caption = document.createElement('p');
    caption.className = 'caption';
    caption.textContent = `${name} · ${sides[0]}: ${tensor.rows}, ${sides[1]}: ${tensor.columns}`;
    stage.append(caption);
}

// Where a matrix leaves room, the same head as lines: of the row that is pointed at, its own.
function drawBeside(stage, matrix, room) {
    const free = room - matrix.across - BESIDE_GAP;
    const pitch = matrix.height * matrix.cells.rowStep;
    if (!isAttention(matrix.tensor) || free < BESIDE_LEAST || pitch < BESIDE_PITCH) return;
    const row = document.createElement('div');
    row.className = 'beside';
    stage.append(row);
    row.append(matrix.base.closest('.plot'));
    const lines = new LinesView(row, matrix.tensor, [matrix.index], free, {
        pitch,
        top: matrix.top,
        leave: () => matrix.point(state.kept),
    });
    matrix.follow = (cell) =>
        lines.draw(cell ? { side: 'row', index: cell.row } : state.token, true);
}

function drawStage(head = state.head) {
    const stage = byId('stage');
    const tensor = shownTensor();
    const room = roomOf(stage);
    stage.replaceChildren();
    read([]); // what was pointed at is gone; what is kept speaks for itself below
    drawCaption(stage, tensor, head);
    let notes = [];
    if (state.view === 'matrix') {
        const matrix = new MatrixView(stage, tensor, head, room);
        const { cells } = matrix;
        drawBeside(stage, matrix, room);
        if (cells.rowStep > 1 || cells.columnStep > 1)
            notes = [`a cell shows the largest of ${cells.rowStep} × ${cells.columnStep} numbers`];
    } else if (state.view === 'lines') {
        const { strokes, strongest } = new LinesView(stage, tensor, shownHeads(), room);
        notes = ['no line below 3 % of the range'];
        if (strongest.length < strokes.length)
            notes.push(
                `the ${strongest.length} strongest of ${strokes.length} lines: point at a token`,
            );
    } else if (state.view === 'model') {
        modelView = new ModelView(stage, room);
    } else if (state.view === 'text') {
        new TextView(stage, tensor, [head]);
    } else if (state.view === 'space') {
        new SpaceView(stage, tensor, head, room);
    } else if (state.view === 'bars') {
        drawBars(stage, current().of(state.kind));
    } else if (state.view === 'next') {
        new NextView(stage, current());
    } else if (state.view === 'compare') {
        new CompareView(stage, room);
    } else {
        drawTable(stage, tensor, head);
    }
    drawNotes(notes);
}

// Bring into what there is, after a change.
function settle() {
    if (!current().kinds.some(view().fits)) state.view = 'matrix';
    const kinds = current().kinds.filter(view().fits);
    state.kind = kinds.includes(state.wanted) ? state.wanted : kinds[0];
    const tensors = current().of(state.kind);
    state.layer = Math.min(state.layer, tensors.length - 1);
    const heads = tensors[state.layer].shape[0];
    if (state.head !== 'mean' && state.head >= heads) state.head = heads - 1;
    if (state.head === 'mean' && heads < 2) state.head = 0;
    const dark = state.theme === 'dark' || (state.theme === 'auto' && prefersDark.matches);
    document.documentElement.dataset.theme = dark && !state.printing ? 'dark' : 'light';
}

function draw() {
    settle();
    keepRoomForWhy();
    state.previewed = state.head;
    showViews();
    showFields();
    showHeads();
    // before the room beside it is measured
    byId('detail').hidden = !(state.view === 'model' && state.opened);
    drawStage();
    drawDetail();
    drawWhy();
    drawLegend();
    byId('title').textContent = look.title || current().model.replace(/^.*\/(?=.)/, '');
    byId('origin').textContent = current().title;
    rememberState();
}

function set(changes) {
    if (['sentence', 'wanted', 'hideFirst'].some((one) => one in changes)) {
        state.kept = null;
        state.token = null;
    }
    const focused = document.activeElement && document.activeElement.id;
    const head = document.activeElement && document.activeElement.closest('.head');
    Object.assign(state, changes);
    draw();
    if (focused && byId(focused)) byId(focused).focus();
    else if (head) document.querySelector(`.head[data-head="${head.dataset.head}"]`)?.focus();
}

const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
