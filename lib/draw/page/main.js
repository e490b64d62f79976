// What is shown, and how it is changed: one state, and a page drawn from it.

const byId = (id) => document.getElementById(id);
const SCALES = { linear: 'linear', sqrt: 'square root', log: 'logarithmic' };
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
    sortBy: '', // a score of heads; '': layers
    station: null, // of the walk; null: the first with a tensor
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
};

const isOfAttention = (kind) => isAttention(current().of(kind)[0]);

// `ofAll`: no one layer or head; `own`: not a tensor alone, either. `draw` gives notes.
const VIEWS = [
    {
        ...{ id: 'lesson', name: 'Lesson', key: 'l', ofAll: true, own: true },
        fits: () => Boolean(current().lesson),
        draw: (stage, { room }) => new LessonView(stage, current(), room),
    },
    { id: 'matrix', name: 'Matrix', key: '1', fits: () => true, draw: drawMatrix },
    { id: 'lines', name: 'Lines', key: '2', fits: isOfAttention, draw: drawLines },
    {
        ...{ id: 'model', name: 'Model', key: '3', ofAll: true, fits: () => true },
        draw: (stage, { room }) => {
            modelView = new ModelView(stage, room);
        },
    },
    {
        ...{ id: 'text', name: 'Text', key: '4', fits: isOfAttention },
        draw: (stage, { tensor, head }) => new TextView(stage, tensor, [head]),
    },
    {
        ...{ id: 'space', name: 'Space', key: '5' },
        fits: (kind) => ['channel', 'dim'].includes(current().of(kind)[0].columns),
        draw: (stage, { tensor, head, room }) => new SpaceView(stage, tensor, head, room),
    },
    {
        ...{ id: 'table', name: 'Table', key: '6', fits: () => true },
        draw: (stage, { tensor, head }) => drawTable(stage, tensor, head),
    },
    {
        ...{ id: 'next', name: 'Next token', key: '7', ofAll: true, own: true },
        fits: () => current().layersTold > 0,
        draw: (stage) => new NextView(stage, current()),
    },
    {
        ...{ id: 'compare', name: 'Compare', key: '8', ofAll: true, fits: () => true },
        draw: (stage, { room }) => new CompareView(stage, room),
    },
    {
        ...{ id: 'lens', name: 'Layers', key: '9', ofAll: true, own: true },
        wants: 'What every layer would say comes next: page --lens puts it in',
        fits: () => current().layersTold > 1,
        draw: (stage) => new LensView(stage, current()),
    },
    {
        ...{ id: 'walk', name: 'Walk', key: 'p', ofAll: true, own: true, fits: () => true },
        draw: (stage, { room }) => {
            walkView = new WalkView(stage, current(), room);
        },
    },
].filter((one) => one.id !== 'lesson' || sentences[0].lesson);

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
    const words = `${name} · ${sides[0]}: ${tensor.rows}, ${sides[1]}: ${tensor.columns}`;
    stage.append(element('p', words, 'caption'));
    if (heads.length === 1) drawScores(stage, tensor, heads[0]);
}

// Where a matrix leaves room, the same head as lines: of the row that is pointed at, its own.
function drawBeside(stage, matrix, room) {
    const free = room - matrix.across - BESIDE_GAP;
    const pitch = matrix.height * matrix.cells.rowStep;
    if (!isAttention(matrix.tensor) || free < BESIDE_LEAST || pitch < BESIDE_PITCH) return;
    const row = element('div', '', 'beside');
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

function drawMatrix(stage, { tensor, head, room }) {
    const matrix = new MatrixView(stage, tensor, head, room);
    const { cells } = matrix;
    drawBeside(stage, matrix, room);
    if (cells.rowStep === 1 && cells.columnStep === 1) return [];
    return [`a cell shows the largest of ${cells.rowStep} × ${cells.columnStep} numbers`];
}

function drawLines(stage, { tensor, room }) {
    const { strokes, strongest } = new LinesView(stage, tensor, shownHeads(), room);
    const notes = ['no line below 3 % of the range'];
    if (strongest.length < strokes.length)
        notes.push(
            `the ${strongest.length} strongest of ${strokes.length} lines: point at a token`,
        );
    return notes;
}

function drawStage(head = state.head) {
    const stage = byId('stage');
    const tensor = shownTensor();
    stage.replaceChildren();
    read(); // what was pointed at is gone; what is kept speaks for itself below
    drawCaption(stage, tensor, head);
    const notes = view().draw(stage, { tensor, head, room: roomOf(stage) });
    drawNotes(Array.isArray(notes) ? notes : []);
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
